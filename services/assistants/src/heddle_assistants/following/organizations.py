"""Applies changes of organisations.

Their settings are compared member by member. What was applied last is stored as digests, because
settings hold secrets.
"""

import hashlib
import json
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from heddle_conversion import MalformedMetadataError, dump, parse
from sqlalchemy import RowMapping, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.secret_members import opened, sealed
from heddle_assistants.database.encryption import Keys, UnreadableSecretError
from heddle_assistants.database.schema import organizations
from heddle_assistants.following.applied_rows import Draft

_CLOSED = "closed"
_PLAIN = ("name", "status")
CONFIG = "config"
_SALT = "salt"
Path = tuple[str, ...]


async def apply_organizations(
    connection: AsyncConnection, drafts: Sequence[Draft], keys: Keys
) -> None:
    """Apply the current rows of organisations, and store the outcomes in the drafts."""
    known = {draft.id: draft.after or draft.before or {} for draft in drafts}
    slugs = [values.get("slug", "") for values in known.values()]
    query = select(organizations).where(organizations.c.slug.in_(slugs))
    query = query.order_by(organizations.c.id).with_for_update()
    rows = {row["slug"]: row for row in (await connection.execute(query)).mappings()}
    for draft in drafts:
        row = rows.get(known[draft.id].get("slug", ""))
        if row is None:
            draft.refusal = "" if draft.after is None else "It was not imported."
        elif draft.after is None:
            await _write(connection, draft, row, {"status": _CLOSED})
        else:
            await _apply(connection, draft, row, keys)


async def _apply(connection: AsyncConnection, draft: Draft, row: RowMapping, keys: Keys) -> None:
    after = draft.after
    assert after is not None  # noqa: S101 - the caller looked
    config = _members(after[CONFIG])
    salt, was = _digests_before(draft)
    now = {path: _digest(salt, value) for path, value in _leaves(config)}
    changed = draft.merged({name: row[name] for name in _PLAIN}, _PLAIN)
    if was != now:
        try:
            stored = opened(_members(row["config"]), keys, row["slug"])
        except UnreadableSecretError as error:
            draft.refusal = f"Its settings are encrypted with another key: {error}"
            return
        merged = _merged(draft, stored, config, was, now, salt)
        if dump(merged) != dump(stored):
            changed[CONFIG] = json.dumps(sealed(merged, keys, row["slug"]))
    # Plain settings do not reach the table of what was applied.
    draft.after = {
        **{name: after[name] for name in ("slug", *_PLAIN)},
        CONFIG: [[*path, digest] for path, digest in sorted(now.items())],
        _SALT: salt,
    }
    await _write(connection, draft, row, changed)


async def _write(
    connection: AsyncConnection, draft: Draft, row: RowMapping, changed: dict[str, Any]
) -> None:
    values = {name: value for name, value in changed.items() if value != row[name]}
    if not values:
        return
    draft.change()
    query = update(organizations).where(organizations.c.id == row["id"])
    await connection.execute(query.values(**values, updated_at=int(time.time())))


def _digests_before(draft: Draft) -> tuple[str, dict[Path, str] | None]:
    if draft.before is None:
        return secrets.token_hex(16), None
    digests = {tuple(path): digest for *path, digest in draft.before[CONFIG]}
    return draft.before[_SALT], digests


def _merged(
    draft: Draft,
    stored: dict[str, Any],
    config: dict[str, Any],
    was: Mapping[Path, str] | None,
    now: Mapping[Path, str],
    salt: str,
) -> dict[str, Any]:
    known = was or {}
    mine, theirs = dict(_leaves(stored)), dict(_leaves(config))
    values = dict(mine)
    for path in sorted({*known, *now}):
        if known.get(path) == now.get(path):
            continue
        if path in mine and mine[path] != theirs.get(path):
            is_edited = _digest(salt, mine[path]) != known.get(path)
            if is_edited:
                draft.lost.append(f"settings {'.'.join(path)}")
        values.pop(path, None)
        if path in theirs:
            values = {other: v for other, v in values.items() if not _overlap(other, path)}
            values[path] = theirs[path]
    return _nested(values)


def _overlap(one: Path, other: Path) -> bool:
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _nested(values: Mapping[Path, Any]) -> dict[str, Any]:
    config: dict[str, Any] = {}
    for path, value in values.items():
        members = config
        for name in path[:-1]:
            members = members.setdefault(name, {})
        members[path[-1]] = value
    return config


def _leaves(value: Mapping[str, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield everything that is no object with members, and where it is."""
    for name, member in value.items():
        if isinstance(member, dict) and member:
            yield from _leaves(member, (*path, name))
        else:
            yield (*path, name), member


def _digest(salt: str, value: object) -> str:
    return hashlib.blake2b(dump(value).encode(), key=salt.encode(), digest_size=16).hexdigest()


def _members(text: str | None) -> dict[str, Any]:
    try:
        return parse(text)
    except MalformedMetadataError:
        return {}
