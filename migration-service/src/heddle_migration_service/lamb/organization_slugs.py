"""The slugs of LAMB's organisations, by which Heddle knows them."""

import re
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass

from heddle_migration_service.lamb.tables import LambTables
from heddle_migration_service.lamb.values import LambRow

UNASSIGNED = "lamb-unassigned"
"""The organisation of rows that belong to none, or to one that does not exist. It has no users."""
TABLE = "organizations"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_MAX_READABLE = 40


@dataclass(frozen=True, slots=True)
class OrganizationSlugs:
    """The slugs of LAMB's organisations."""

    by_lamb_id: Mapping[int, str]

    def of(self, row: LambRow) -> str:
        """Return the organisation of a row; `UNASSIGNED` if it has none, which is noted."""
        lamb_id = row.whole("organization_id")
        if lamb_id is not None and lamb_id in self.by_lamb_id:
            return self.by_lamb_id[lamb_id]
        row.notes.append(
            f"Its organisation {lamb_id} is not there; it belongs to {UNASSIGNED!r} now."
            if lamb_id is not None
            else f"It has no organisation; it belongs to {UNASSIGNED!r} now."
        )
        return UNASSIGNED


async def organization_slugs(tables: LambTables) -> OrganizationSlugs:
    """Read the slugs."""
    slugs: dict[int, str] = {}
    async with aclosing(tables.batches(TABLE, ("slug",))) as batches:
        async for rows in batches:
            slugs |= {row.whole("id") or 0: slug_of(row) for row in rows}
    return OrganizationSlugs(slugs)


def slug_of(row: LambRow) -> str:
    """Return the slug that an organisation has in Heddle."""
    lamb_slug, lamb_id = row.text("slug") or "", row.whole("id")
    if _SLUG.fullmatch(lamb_slug):
        return lamb_slug
    # With the id, or two organisations might become one.
    readable = re.sub(r"[^a-z0-9]+", "-", lamb_slug.lower())[:_MAX_READABLE].strip("-")
    return f"{readable or 'organization'}-{lamb_id}"
