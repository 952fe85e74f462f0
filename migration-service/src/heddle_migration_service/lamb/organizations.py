"""LAMB's organisations.

An organisation is known by its slug, everywhere outside of the database: one whose slug Heddle has
already is that one, whatever its id. So its id is kept only if it is free, and what belongs to it
follows it.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle_runtime.egress import Egress
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_migration_service.conversion import MalformedMetadataError, parse
from heddle_migration_service.database.identities import continue_after_given_ids
from heddle_migration_service.database.schema import organizations
from heddle_migration_service.lamb.inside import inside
from heddle_migration_service.lamb.values import LambRow

UNASSIGNED = "lamb-unassigned"
"""The organisation of what belongs to none, or to one that is not there. Nobody is its member."""
TABLE = "organizations"
COLUMNS = ("slug", "name", "is_system", "status", "config", "created_at", "updated_at")
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
_LONGEST = 40
_KNOWN = (
    organizations.c.id,
    organizations.c.slug,
    organizations.c.is_system,
    organizations.c.created_at,
)

Seal = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Takes a slug and that organisation's settings; returns them with the secrets encrypted."""


@dataclass(slots=True)
class OrganizationDraft:
    """An organisation of LAMB, as Heddle would keep it."""

    lamb_id: int | None
    values: dict[str, Any]
    notes: list[str]
    new: bool = False


@dataclass(slots=True)
class OrganizationIds:
    """Which of Heddle's organisations LAMB's are."""

    by_lamb_id: dict[int, int] = field(default_factory=dict)

    def of(self, row: LambRow) -> int | None:
        """Return the organisation of a row; None if it has none, which is noted."""
        lamb_id = row.whole("organization_id")
        found = None if lamb_id is None else self.by_lamb_id.get(lamb_id)
        if found is None:
            row.notes.append(
                f"Its organisation {lamb_id} is not there; it belongs to {UNASSIGNED!r} now."
                if lamb_id is not None
                else f"It has no organisation; it belongs to {UNASSIGNED!r} now."
            )
        return found


def draft(row: LambRow, seal: Seal, egress: Egress) -> OrganizationDraft:
    """Return what Heddle would keep of a row."""
    lamb_id = row.whole("id")
    given = row.text("slug") or ""
    slug = _slug(given, lamb_id)
    if slug != given:
        row.notes.append(f"Its slug was {given[:100]!r}, which Heddle does not allow.")
    created_at = row.seconds("created_at") or 0
    config = _config(row)
    system = row.flag("is_system")
    if not system and (note := inside(config, egress)):  # the system's may be anywhere
        row.notes.append(note)
    values = {
        "id": lamb_id,
        "slug": slug,
        "name": row.text("name") or slug,
        "is_system": system,
        "status": row.text("status") or "active",
        "config": json.dumps(seal(slug, config)),
        "created_at": created_at,
        "updated_at": row.seconds("updated_at") or created_at,
    }
    return OrganizationDraft(lamb_id, values, row.notes)


async def place(
    connection: AsyncConnection, drafts: Sequence[OrganizationDraft], *, dry_run: bool
) -> OrganizationIds:
    """Insert the drafts that are new, in the caller's transaction; return where all are."""
    if not dry_run:  # first, for it also keeps others from inserting meanwhile
        await continue_after_given_ids(connection, organizations)
    rows = (await connection.execute(select(*_KNOWN))).all()
    known = {row.slug: (row.id, row.created_at) for row in rows}
    taken = {row.id for row in rows}
    system = next((row.slug for row in rows if row.is_system), None)
    ids = OrganizationIds()
    # Those that keep their ids come first, or a new id might be one of theirs.
    for one in sorted(drafts, key=lambda each: each.lamb_id is None or each.lamb_id in taken):
        slug, created_at = one.values["slug"], one.values["created_at"]
        if slug not in known:
            one.new = True
            if one.values["is_system"] and system is not None:
                one.values["is_system"] = False
                one.notes.append(f"It does not run this installation; {system!r} does.")
            system = slug if one.values["is_system"] else system
            known[slug] = await _insert(connection, one, taken, dry_run=dry_run), created_at
            taken.add(known[slug][0])
        elif known[slug][1] != created_at:
            one.notes.append("Heddle has an organisation of this slug, which stays as it is.")
        if one.lamb_id is not None:
            ids.by_lamb_id[one.lamb_id] = known[slug][0]
    return ids


async def find_unassigned(connection: AsyncConnection) -> int | None:
    """Return the id of the organisation `UNASSIGNED`, if there is one."""
    query = select(organizations.c.id).where(organizations.c.slug == UNASSIGNED)
    return await connection.scalar(query)


async def unassigned(connection: AsyncConnection, now: int) -> int:
    """Return the id of the organisation `UNASSIGNED`, which is made if it is missing."""
    if found := await find_unassigned(connection):
        return found
    values = {"slug": UNASSIGNED, "name": "Without an organisation in LAMB"}
    made = insert(organizations).values(**values, created_at=now, updated_at=now)
    return int((await connection.execute(made.returning(organizations.c.id))).scalar_one())


async def _insert(
    connection: AsyncConnection, one: OrganizationDraft, taken: set[int], *, dry_run: bool
) -> int:
    values = dict(one.values)
    if one.lamb_id is None or one.lamb_id in taken:
        del values["id"]
        one.notes.append(f"Its id {one.lamb_id} is another organisation's; it has a new one.")
    if dry_run:
        return -len(taken) - 1  # nobody's
    made = insert(organizations).values(**values).returning(organizations.c.id)
    found = (await connection.execute(made)).scalar_one()
    await continue_after_given_ids(connection, organizations)
    return int(found)


def _slug(given: str, lamb_id: int | None) -> str:
    if _SLUG.fullmatch(given):
        return given
    # With the id, or two organisations might become one.
    readable = re.sub(r"[^a-z0-9]+", "-", given.lower())[:_LONGEST].strip("-")
    return f"{readable or 'organization'}-{lamb_id}"


def _config(row: LambRow) -> dict[str, Any]:
    try:
        return parse(row.text("config"))
    except MalformedMetadataError:
        row.notes.append("Its config is no JSON object; it starts without settings.")
        return {}
