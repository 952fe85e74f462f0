"""Assistants as LAMB's users made them: the known legacy rows, varied."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

GOLDEN = Path(__file__).parents[2] / "tests/golden/migration"
SHARES = {"02_simple_rag": 40, "13_quota": 10, "07_single_file": 8, "05_rubric": 8, "01_no_rag": 20}
"""How many of a hundred-odd are of a kind; of the others there is one each."""
BROKEN = "14_not_json"
BROKEN_SHARE = 0.001
SEED = 43
_ITEM = re.compile(r"[\w-]+")
_LANGUAGE = (
    "You are a patient tutor. Ask before you tell. Name your sources. Say so when you do not know. "
)


def rows(count: int) -> Iterator[dict[str, Any]]:
    """Yield rows of `assistants`, ids from 1, the same ones at each call."""
    dice = Random(SEED)  # noqa: S311 - no secret
    known = {
        path.name.removesuffix(".legacy.json"): json.loads(path.read_text())
        for path in sorted(GOLDEN.glob("*.legacy.json"))
    }
    broken = known.pop(BROKEN)
    kinds = list(known)
    weights = [SHARES.get(kind, 1) for kind in kinds]
    for number in range(1, count + 1):
        kind = dice.choices(kinds, weights)[0]
        row = broken if dice.random() < BROKEN_SHARE else known[kind]
        yield _varied(row, number, dice)


def _varied(row: dict[str, Any], number: int, dice: Random) -> dict[str, Any]:
    metadata = row["api_callback"]
    if isinstance(metadata, dict):
        if metadata.get("file_path"):
            metadata = metadata | {"file_path": f"{number}/notes.md"}
        metadata = json.dumps(metadata | {"note": f"{number}", "quota_used": dice.random()})
    return {
        "id": number,
        "organization_id": 1,
        "name": f"{number % 997}_{row['name']}_{number}",
        "description": row["description"],
        "owner": f"teacher-{number % 997}@uni.example",
        "metadata": metadata,
        "system_prompt": _LANGUAGE * dice.randint(1, 20),
        "prompt_template": row["prompt_template"],
        "rag_top_k": row["RAG_Top_k"],
        "rag_collections": _ITEM.sub(rf"\g<0>-{number}", row["RAG_collections"] or "") or None,
        "created_at": row["created_at"],
        "updated_at": row["updated_at"],
    }
