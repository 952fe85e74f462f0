"""LAMB's assistants, as they are: nothing is migrated here."""

import json
import re
from collections.abc import Sequence
from typing import Any

from heddle.assistant.v1 import rows_pb2
from heddle_conversion.identifiers import DELETED_OWNER

from heddle_migration_service.lamb import publications, users
from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.references import (
    note_budgets,
    note_models,
    note_references,
)
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "assistants"
_DELETED = re.compile(r"_deleted_(\d{1,11})$", re.ASCII)
_TEXTS = {
    "description": "description",
    "api_callback": "metadata",
    "system_prompt": "system_prompt",
    "prompt_template": "prompt_template",
    "RAG_endpoint": "rag_endpoint",
    "RAG_collections": "rag_collections",
    "pre_retrieval_endpoint": "pre_retrieval_endpoint",
    "post_retrieval_endpoint": "post_retrieval_endpoint",
}
_COLUMNS = (
    *("organization_id", "name", "owner", *_TEXTS, "RAG_Top_k", "created_at", "updated_at"),
    *publications.COLUMNS,
)


async def _drafts(
    tables: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    published = await publications.publications(tables, rows)
    drafts = [_draft(row, organizations.of(row)) for row in rows]
    for row, draft in zip(rows, drafts, strict=True):
        draft.values.update(published.get(row.whole("id"), {}))
    await _note_missing_owners(tables, drafts)
    await note_references(tables, drafts)
    await note_models(tables, rows, drafts)
    await note_budgets(tables, drafts)
    return drafts


def _draft(row: LambRow, organization: str) -> Draft:
    owner = row.text("owner") or ""
    name = row.text("name") or f"assistant_{row.whole('id')}"
    if not row.text("name"):
        row.notes.append("It had no name.")
    values = {
        "organization": organization,
        "name": name,
        "owner": owner,
        "rag_top_k_json": _json(row.untyped("RAG_Top_k")),
        **{ours: row.text(lambs) for lambs, ours in _TEXTS.items()},
        **times(row),
        "deleted_at": None,
        **dict.fromkeys(("group_id", "group_name", "oauth_consumer_name", "published_at")),
        "published": False,
    }
    if owner == DELETED_OWNER:
        match = _DELETED.search(name)
        values["deleted_at"] = int(match[1]) if match else values["updated_at"]
    return drafted(row, name, values)


async def _note_missing_owners(tables: LambTables, drafts: Sequence[Draft]) -> None:
    if not await tables.columns(users.TABLE):
        return
    owners = {draft.values["owner"] for draft in drafts} - {DELETED_OWNER}
    owner_rows = await tables.matching(users.TABLE, "user_email", owners, ())
    there = {user.text("user_email") for user in owner_rows} | {DELETED_OWNER}
    for draft in drafts:
        if draft.values["owner"] not in there:
            draft.notes.append(f"Its owner {draft.values['owner'][:200]!r} is no user.")


def _row(**values: Any) -> rows_pb2.AssistantRow:  # noqa: ANN401 - columns of any type
    if "id" in values:
        values["id"] = str(values["id"])
    return rows_pb2.AssistantRow(**values)


def _json(value: object) -> str | None:
    return None if value is None else json.dumps(value)


ASSISTANTS = Kind(
    TABLE,
    _COLUMNS,
    "assistants",
    _row,
    ("name", "owner", "organization"),
    _drafts,
    strays=publications.strays,
)
