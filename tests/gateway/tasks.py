"""What Open WebUI sends for itself."""

from typing import Any

# As Open WebUI sends it when a chat gets its title: one message, not streamed. `metadata` is what
# it knows of the chat; some of its versions keep it to themselves.
PROMPT = (
    "### Task:\nGenerate a title for the chat.\n### Output:\n"
    'JSON format: { "title": "..." }\n### Chat History:\n<chat_history>\nUSER: hi\n</chat_history>'
)
TITLE: dict[str, Any] = {
    "model": "lamb_assistant.1",
    "messages": [{"role": "user", "content": PROMPT}],
    "stream": False,
    "max_completion_tokens": 1000,
}
METADATA: dict[str, Any] = {
    "task": "title_generation",
    "task_body": {"model": "lamb_assistant.1", "chat_id": "c-1"},
    "chat_id": "c-1",
}
