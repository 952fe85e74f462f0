"""What tests of LAMB's own paths have in common."""

import json
from typing import Any

from gateway.library import Library

CREATOR = "/creator/assistant"
PLUGINS = ("prompt_processor", "connector", "llm", "rag_processor")
# What LAMB's form sends: it knows nothing of tools, quotas or titles.
FORM = {
    "name": "tutor",
    "description": "Helps.",
    "system_prompt": "You help.",
    "prompt_template": "{context}\n\n{user_input}",
    "RAG_Top_k": 5,
    "RAG_collections": "4,7",
    "metadata": json.dumps(
        {
            "prompt_processor": "simple_augment",
            "connector": "openai",
            "llm": "gpt-4o-mini",
            "rag_processor": "simple_rag",
            "capabilities": {"vision": True, "image_generation": False},
        }
    ),
    "pre_retrieval_endpoint": "",
    "post_retrieval_endpoint": "",
    "RAG_endpoint": "",
}


async def read(shelf: Library, number: int, who: str = "ana") -> dict[str, Any]:
    """Return what LAMB's clients see of an assistant."""
    response = await shelf[who].get(f"{CREATOR}/get_assistant/{number}")
    assert response.status_code == 200, response.text
    told: dict[str, Any] = response.json()
    return told
