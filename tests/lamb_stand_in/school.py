"""What is in the database of the stand-in: a teacher, her assistants, and a rubric."""

import json
from pathlib import Path

from migration.lamb.lamb_database import Lamb

from lamb_stand_in.rows import hashed, new_database
from lamb_stand_in.server import PASSWORD

ANN, BEN, EVE = "ann@uni.example", "ben@uni.example", "eve@other.example"
"""A teacher, a colleague, and a user of another organisation."""
TUTOR, HIDDEN, GONE, BENS, WEIRD = 7, 8, 9, 10, 11
CRITERION = "The warp holds under tension."
METADATA = {
    "prompt_processor": "simple_augment",
    "connector": "bypass",
    "llm": "full-conversation-bypass",
    "rag_processor": "no_rag",
    "file_path": "",
    "capabilities": {"vision": False, "image_generation": False},
}
"""With the connector that answers with the prompt, so that a page shows what the model gets."""
RUBRIC = {
    "rubricId": "rubric-of-the-loom",
    "title": "Weaving",
    "description": "How cloth is graded.",
    "metadata": {"createdAt": "2026-01-01T00:00:00Z", "modifiedAt": "2026-01-01T00:00:00Z"},
    "criteria": [
        {
            "id": "warp",
            "name": "Warp",
            "description": CRITERION,
            "weight": 100,
            "levels": [
                {"id": "good", "score": 2, "label": "Good", "description": "Even."},
                {"id": "poor", "score": 1, "label": "Poor", "description": "Slack."},
            ],
        }
    ],
    "scoringType": "points",
    "maxScore": 10,
}


def school(path: Path) -> Lamb:
    """Make a database of LAMB with three users, of whom two are of one organisation."""
    lamb = new_database(path)
    lamb.add("organizations", {"id": 2, "slug": "other", "name": "Another University"})
    for number, (email, organization) in enumerate(((ANN, 1), (BEN, 1), (EVE, 2)), start=1):
        name = email.partition("@")[0].title()
        user = {"id": number, "user_email": email, "user_name": name}
        password = {"organization_id": organization, "password_hash": hashed(PASSWORD)}
        lamb.add("Creator_users", {**user, **password})
    plain = {
        "owner": ANN,
        "api_callback": json.dumps(METADATA),
        "prompt_template": "{context}\n\nQuestion: {user_input}",
        "RAG_Top_k": 3,
        "RAG_collections": "",
        "RAG_endpoint": "",
        "pre_retrieval_endpoint": "",
        "post_retrieval_endpoint": "",
        "description": "",
    }
    lamb.add(
        "assistants",
        {**plain, "id": TUTOR, "name": "1_weaver", "system_prompt": "Weave."},
        {**plain, "id": HIDDEN, "name": "1_hidden"},
        {**plain, "id": GONE, "name": "1_gone"},
        {**plain, "id": BENS, "name": "2_spinner", "owner": BEN},
        {**plain, "id": WEIRD, "name": "3_Ull-de-bou_", "owner": EVE, "organization_id": 2},
    )
    for identifier in (TUTOR, GONE, BENS, WEIRD):
        consumer = {"oauth_consumer_name": f"consumer_{identifier}"}
        lamb.add("assistant_publish", {"assistant_id": identifier, **consumer})
    lamb.add("assistant_publish", {"assistant_id": HIDDEN, "oauth_consumer_name": "null"})
    rubric = {"rubric_id": RUBRIC["rubricId"], "rubric_data": json.dumps(RUBRIC)}
    return lamb.add("rubrics", {**rubric, "owner_email": ANN, "title": "Weaving"})
