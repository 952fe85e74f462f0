"""Applies one batch of rows in one transaction."""

import math
from collections.abc import Sequence
from typing import Any

from heddle.assistant.v1 import following_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from sqlalchemy import select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.batches import batch_change, ranges
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import organizations
from heddle_assistants.following.applied_rows import (
    TABLES,
    Draft,
    read_applied,
    write_applied,
)
from heddle_assistants.following.assistants import COLUMNS, SHARED_WITH, apply_assistants
from heddle_assistants.following.claims import require_claim
from heddle_assistants.following.organizations import CONFIG, apply_organizations
from heddle_assistants.following.other_tables import USAGE, apply_rows, apply_usage
from heddle_assistants.imports.kinds import KINDS
from heddle_assistants.repository.messages import column_values
from heddle_assistants.repository.writer import taken_names

_ADDRESSES = ("email", "owner", "owner_email")
_ORGANIZATIONS = "organizations"
_ASSISTANTS = "assistants"


class Applying:
    """Applies the current rows of the other database."""

    def __init__(self, audit: AuditLog, keys: Keys) -> None:
        self._audit = audit
        self._keys = keys

    async def run(self, request: pb.FollowRowsRequest) -> list[Draft]:
        """Apply rows, and return the drafts with their outcomes.

        Raises:
            AlreadyExistsError: Another user took the name of an assistant at the same time.
            ConflictError: Another process follows.
        """
        source = TABLES[request.table]
        messages = getattr(request.rows, source)
        values = [column_values(message) for message in messages]
        drafts = _drafts(source, request, values)
        drafts += [Draft(number, None, origin=request.origin) for number in request.gone_ids]
        drafts += [Draft(each.id, None, refusal=each.reason) for each in request.refusals]
        with taken_names():
            async with self._audit.writing() as (connection, changes):
                await require_claim(connection, request.claimant)
                former = await read_applied(connection, source, drafts)
                await self._apply(connection, changes, source, drafts, values)
                await write_applied(connection, source, drafts, former)
                changes.extend(_changes(source, drafts))
        return drafts

    async def _apply(
        self,
        connection: AsyncConnection,
        changes: list[Change],
        source: str,
        drafts: Sequence[Draft],
        values: Sequence[dict[str, Any]],
    ) -> None:
        if source == _ORGANIZATIONS:
            known = [draft for draft in drafts if not draft.refusal]
            await apply_organizations(connection, known, self._keys)
            return
        if source == USAGE:
            await apply_usage(connection, [draft for draft in drafts if not draft.refusal])
            return
        query = select(organizations.c.slug, organizations.c.id)
        ids: dict[str, int] = {slug: n for slug, n in await connection.execute(query)}  # noqa: C416 - rows are no pairs to mypy
        for draft in drafts:
            if draft.after is not None and draft.after["organization"] not in ids:
                draft.refusal = "Its organisation was not imported."
        known = [draft for draft in drafts if not draft.refusal]
        if source == _ASSISTANTS:
            times = {int(row["id"]): row["deleted_at"] for row in values if row["deleted_at"]}
            await apply_assistants(connection, changes, known, ids, times)
        else:
            await apply_rows(connection, KINDS[source], known, ids)


def _drafts(
    source: str, request: pb.FollowRowsRequest, values: Sequence[dict[str, Any]]
) -> list[Draft]:
    drafts = []
    for index, row in enumerate(values):
        after = {name: _plain(name, value) for name, value in row.items()}
        if source == _ASSISTANTS:
            shares = request.shares[index].users if index < len(request.shares) else ()
            after = {name: after[name] for name in ("organization", *COLUMNS)}
            after[SHARED_WITH] = sorted({canonical_email(each) for each in shares})
        elif source == _ORGANIZATIONS:
            after = {name: after[name] for name in ("slug", "name", "status", CONFIG)}
            after["status"] = after["status"] or "active"
        elif source == USAGE:
            row["id"] = row["assistant_id"]
        else:
            kind = KINDS[source]
            names = ("organization", kind.unchanging.name, *kind.followed)
            after = {name: after[name] for name in names}
        drafts.append(Draft(int(row["id"] or 0), after, request.digests[index], request.origin))
    return drafts


def _plain(name: str, value: Any) -> Any:  # noqa: ANN401 - a column of any type
    if name in _ADDRESSES and value:
        return canonical_email(value)
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _changes(source: str, drafts: Sequence[Draft]) -> list[Change]:
    changed = [draft for draft in drafts if draft.changed]
    if source in (_ASSISTANTS, USAGE) or not changed:
        return []
    ids = ranges(draft.id for draft in changed)
    contents = [[draft.after, draft.note] for draft in changed]
    return [batch_change("following.apply", source, len(changed), ids, contents)]


def applied(draft: Draft) -> pb.AppliedRow:
    """Return the outcome of a row."""
    return pb.AppliedRow(id=draft.id, changed=draft.changed, note=draft.note, refusal=draft.refusal)
