"""LAMB's registry of knowledge bases. The documents are at a server of their own."""

from collections.abc import Sequence

from heddle.assistant.v1 import rows_pb2
from heddle_conversion import MalformedMetadataError, parse
from heddle_conversion.contract_tools import text

from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.users import owner_emails
from heddle_migration_service.lamb.values import UNREADABLE, LambRow

TABLE = "kb_registry"
_COLUMNS = (
    *("kb_id", "kb_name", "owner_user_id", "organization_id", "is_shared", "metadata"),
    *("created_at", "updated_at"),
)


async def _drafts(
    tables: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    owners = await owner_emails(tables, rows)
    return [
        _draft(row, organizations.of(row), owner) for row, owner in zip(rows, owners, strict=True)
    ]


def _draft(row: LambRow, organization: str, owner: str) -> Draft:
    kb_id = row.text("kb_id") or ""
    name = row.text("kb_name") or kb_id
    values = {
        "organization": organization,
        "kb_id": kb_id,
        "owner_email": owner,
        "name": name,
        "description": _description(row),
        "is_shared": row.flag("is_shared"),
        **times(row),
    }
    draft = drafted(row, name, values)
    if not kb_id:
        draft.refuse("It has no kb_id, by which assistants name it.")
    return draft


def _description(row: LambRow) -> str | None:
    try:
        description = parse(row.text("metadata")).get("description")
    except MalformedMetadataError:
        return None
    if not isinstance(description, str):
        return None
    # JSON writes what no row can hold: NUL, and halves of characters.
    return text(description).replace("\0", UNREADABLE)


KNOWLEDGE_BASES = Kind(
    TABLE, _COLUMNS, "knowledge_bases", rows_pb2.KnowledgeBaseRow, ("kb_id",), _drafts
)
