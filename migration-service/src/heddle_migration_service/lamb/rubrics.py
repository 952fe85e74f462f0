"""LAMB's rubrics."""

from collections.abc import Sequence

from heddle.assistant.v1 import rows_pb2

from heddle_migration_service.lamb.kinds import Draft, Kind, drafted, times
from heddle_migration_service.lamb.organization_slugs import OrganizationSlugs
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

TABLE = "rubrics"
_COLUMNS = (
    *("rubric_id", "organization_id", "owner_email", "title", "description", "rubric_data"),
    *("is_public", "is_showcase", "parent_rubric_id", "created_at", "updated_at"),
)


async def _drafts(
    _: LambTables, organizations: OrganizationSlugs, rows: Sequence[LambRow]
) -> list[Draft]:
    return [_draft(row, organizations.of(row)) for row in rows]


def _draft(row: LambRow, organization: str) -> Draft:
    rubric_id = row.text("rubric_id") or ""
    title = row.text("title") or rubric_id
    values = {
        "organization": organization,
        "rubric_id": rubric_id,
        "owner_email": row.text("owner_email") or "",
        "title": title,
        "description": row.text("description"),
        "rubric_data": row.text("rubric_data") or "{}",
        "is_public": row.flag("is_public"),
        "is_showcase": row.flag("is_showcase"),
        "parent_rubric_id": row.text("parent_rubric_id"),
        **times(row),
    }
    draft = drafted(row, title, values)
    if not rubric_id:
        draft.refuse("It has no rubric_id, by which assistants name it.")
    return draft


RUBRICS = Kind(TABLE, _COLUMNS, "rubrics", rows_pb2.RubricRow, ("rubric_id",), _drafts)
