"""Imports organisations.

An organisation is known by its slug, everywhere outside of the database: one whose slug exists
already is that one, whatever its id. So its id is kept only if it is free. The default organisation
exists from the start: without settings, it takes those of the import.
"""

import json
from collections.abc import Container, Sequence

from heddle_conversion import MalformedMetadataError, parse
from heddle_runtime.http.egress import Egress
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION
from heddle_runtime.storage.database.identities import continue_after_explicit_ids
from sqlalchemy import insert, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.private_networks import private_network_note
from heddle_assistants.accounts.secret_members import sealed
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import organizations
from heddle_assistants.imports.conflict_resolution import Draft

_KNOWN = (
    organizations.c.id,
    organizations.c.slug,
    organizations.c.is_system,
    organizations.c.created_at,
    organizations.c.config,
)
_NO_SETTINGS = "{}"


def prepare(draft: Draft, keys: Keys, egress: Egress) -> None:
    """Encrypt the secrets of a draft, and note which servers Heddle does not reach."""
    values = draft.values
    try:
        config = parse(values["config"])
    except MalformedMetadataError:
        draft.notes.append("Its config is no JSON object; it starts without settings.")
        config = {}
    # The servers of the system's organisation may be anywhere.
    if not values["is_system"] and (note := private_network_note(config, egress)):
        draft.notes.append(note)
    values["config"] = json.dumps(sealed(config, keys, values["slug"]))
    values["status"] = values["status"] or "active"


async def place(connection: AsyncConnection, drafts: Sequence[Draft], *, dry_run: bool) -> None:
    """Insert the drafts that are new, in the caller's transaction."""
    if not dry_run:  # first, because it also keeps others from inserting meanwhile
        await continue_after_explicit_ids(connection, organizations)
    rows = (await connection.execute(select(*_KNOWN))).all()
    created_at = {row.slug: row.created_at for row in rows}
    without_settings = {row.slug for row in rows if row.config == _NO_SETTINGS}
    used_ids = {row.id for row in rows}
    system = next((row.slug for row in rows if row.is_system), None)
    # Those that keep their ids come first, or a new id might be one of theirs.
    for draft in sorted(drafts, key=lambda each: _needs_id(each, used_ids)):
        values = draft.values
        slug = values["slug"]
        if slug in created_at:
            draft.present = True
            if slug == DEFAULT_ORGANIZATION and slug in without_settings:
                await _adopt(connection, draft, dry_run=dry_run)
            elif created_at[slug] != values["created_at"]:
                draft.notes.append("Heddle has an organisation of this slug, which stays as it is.")
            continue
        if values["is_system"] and system is not None:
            values["is_system"] = False
            draft.notes.append(f"It does not run this installation; {system!r} does.")
        system = slug if values["is_system"] else system
        if _needs_id(draft, used_ids):
            if values["id"] is not None:
                draft.notes.append(
                    f"Its id {values['id']} is another organisation's; it has a new one."
                )
            values["id"] = None
        created_at[slug] = values["created_at"]
        used_ids.add(values["id"] if dry_run else await _insert(connection, draft))


async def _adopt(connection: AsyncConnection, draft: Draft, *, dry_run: bool) -> None:
    """Give the default organisation, which has no settings, those of a draft."""
    config = draft.values["config"]
    if config == _NO_SETTINGS:
        return
    draft.notes.append("Heddle's organisation of this slug has no settings; it takes these.")
    if not dry_run:
        change = update(organizations).where(organizations.c.slug == DEFAULT_ORGANIZATION)
        await connection.execute(change.values(config=config))


async def _insert(connection: AsyncConnection, draft: Draft) -> int:
    values = {name: value for name, value in draft.values.items() if value is not None}
    query = insert(organizations).values(**values).returning(organizations.c.id)
    number = (await connection.execute(query)).scalar_one()
    await continue_after_explicit_ids(connection, organizations)
    return int(number)


def _needs_id(draft: Draft, used_ids: Container[int]) -> bool:
    return draft.values["id"] is None or draft.values["id"] in used_ids
