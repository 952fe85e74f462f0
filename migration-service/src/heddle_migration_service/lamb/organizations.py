"""LAMB's organisations."""

import time
from collections.abc import Iterable, Sequence

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2

from heddle_migration_service.lamb.kinds import Draft, Kind, drafted
from heddle_migration_service.lamb.organization_slugs import (
    TABLE,
    UNASSIGNED,
    OrganizationSlugs,
    slug_of,
)
from heddle_migration_service.lamb.prices import Prices, lamb_prices, with_prices
from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow
from heddle_migration_service.row_batches import RowBatches

_COLUMNS = ("slug", "name", "is_system", "status", "config", "created_at", "updated_at")


async def _drafts(tables: LambTables, _: OrganizationSlugs, rows: Sequence[LambRow]) -> list[Draft]:
    prices = await lamb_prices(tables)
    return [_draft(row, prices) for row in rows]


def _draft(row: LambRow, prices: Prices) -> Draft:
    slug, lamb_slug = slug_of(row), row.text("slug") or ""
    if slug != lamb_slug:
        row.notes.append(f"Its slug was {lamb_slug[:100]!r}, which Heddle does not allow.")
    created_at = row.seconds("created_at") or 0
    values = {
        "slug": slug,
        "name": row.text("name") or slug,
        "is_system": row.flag("is_system"),
        "status": row.text("status") or "active",
        "config": with_prices(row.text("config") or "", prices),
        "created_at": created_at,
        "updated_at": row.seconds("updated_at") or created_at,
    }
    return drafted(row, slug, values)


async def make_unassigned(batches: RowBatches, rows: Iterable[Message]) -> None:
    """Make the organisation `UNASSIGNED` if one of `rows` belongs to it."""
    if not any(getattr(row, "organization", "") == UNASSIGNED for row in rows):
        return
    now = int(time.time())
    organization = rows_pb2.OrganizationRow(
        slug=UNASSIGNED,
        name="Without an organisation in LAMB",
        status="active",
        created_at=now,
        updated_at=now,
    )
    await batches.import_rows(ORGANIZATIONS.field, [organization], dry_run=False)


ORGANIZATIONS = Kind(TABLE, _COLUMNS, "organizations", rows_pb2.OrganizationRow, ("slug",), _drafts)
