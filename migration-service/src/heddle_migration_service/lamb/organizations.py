"""LAMB's organisations, which are known by their slugs."""

import re
from dataclasses import dataclass, field

from heddle.assistant.v1 import rows_pb2

from heddle_migration_service.lamb.prices import Prices, with_prices
from heddle_migration_service.lamb.values import LambRow

UNASSIGNED = "lamb-unassigned"
"""The organisation of rows that belong to none, or to one that does not exist. It has no users."""
TABLE = "organizations"
COLUMNS = ("slug", "name", "is_system", "status", "config", "created_at", "updated_at")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_MAX_READABLE = 40


@dataclass(slots=True)
class OrganizationSlugs:
    """The slugs of LAMB's organisations."""

    by_lamb_id: dict[int | None, str] = field(default_factory=dict)

    def of(self, row: LambRow) -> str | None:
        """Return the organisation of a row; None if it has none, which is noted."""
        lamb_id = row.whole("organization_id")
        slug = None if lamb_id is None else self.by_lamb_id.get(lamb_id)
        if slug is None:
            row.notes.append(
                f"Its organisation {lamb_id} is not there; it belongs to {UNASSIGNED!r} now."
                if lamb_id is not None
                else f"It has no organisation; it belongs to {UNASSIGNED!r} now."
            )
        return slug


def organization_row(row: LambRow, prices: Prices) -> rows_pb2.OrganizationRow:
    """Return what Heddle would store of a row, with LAMB's prices of models."""
    lamb_id = row.whole("id")
    lamb_slug = row.text("slug") or ""
    slug = _slug(lamb_slug, lamb_id)
    if slug != lamb_slug:
        row.notes.append(f"Its slug was {lamb_slug[:100]!r}, which Heddle does not allow.")
    created_at = row.seconds("created_at") or 0
    return rows_pb2.OrganizationRow(
        id=lamb_id,
        slug=slug,
        name=row.text("name") or slug,
        is_system=row.flag("is_system"),
        status=row.text("status") or "active",
        config=with_prices(row.text("config") or "", prices),
        created_at=created_at,
        updated_at=row.seconds("updated_at") or created_at,
    )


def unassigned(now: int) -> rows_pb2.OrganizationRow:
    """Return the organisation `UNASSIGNED`."""
    return rows_pb2.OrganizationRow(
        slug=UNASSIGNED,
        name="Without an organisation in LAMB",
        status="active",
        created_at=now,
        updated_at=now,
    )


def _slug(lamb_slug: str, lamb_id: int | None) -> str:
    if _SLUG.fullmatch(lamb_slug):
        return lamb_slug
    # With the id, or two organisations might become one.
    readable = re.sub(r"[^a-z0-9]+", "-", lamb_slug.lower())[:_MAX_READABLE].strip("-")
    return f"{readable or 'organization'}-{lamb_id}"
