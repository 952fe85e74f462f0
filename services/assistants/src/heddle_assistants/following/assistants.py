"""Applies changes of assistants."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from heddle_conversion import displayed_title, newest
from heddle_conversion.columns import LegacyColumns
from heddle_conversion.identifiers import DELETED_OWNER
from heddle_conversion.merging import MergedMetadata, RowMetadata
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.serving import installed as packages
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.database.assistant_row import ROWS, Row, Shares
from heddle_assistants.database.schema import assistant_versions, assistants, originals
from heddle_assistants.following.applied_rows import Draft, Values
from heddle_assistants.following.names import Naming, numbered_name, settle_names
from heddle_assistants.repository.migrating import keeping
from heddle_assistants.repository.saving import row_of_snapshot, save
from heddle_assistants.sharing.store import write_users

ACTION = "follow"
SHARED_WITH = "shared_with"
_IDENTITY = ("organization", "name", "owner")
_PLAIN = (
    *("description", "system_prompt", "prompt_template", "rag_top_k", "rag_collections"),
    *("rag_endpoint", "pre_retrieval_endpoint", "post_retrieval_endpoint"),
    *("published", "published_at", "group_id", "group_name", "oauth_consumer_name"),
)
COLUMNS = (*_IDENTITY, *_PLAIN, "metadata")
"""The columns that are applied, besides the users with whom an assistant is shared."""
_TIMES = ("published_at",)
Merge = Callable[[RowMetadata, RowMetadata | None, RowMetadata], MergedMetadata]
"""Receives what is stored here, what was applied last if that is known, and what is there now."""


@dataclass(slots=True)
class _Plan:
    draft: Draft
    row: Row
    columns: dict[str, Any] = field(default_factory=dict)
    naming: Naming | None = None
    edit: MergedMetadata | None = None

    @property
    def is_refilled(self) -> bool:
        """Whether the row comes back after its contents were removed."""
        after = self.draft.after
        return self.row.is_emptied and after is not None and after["owner"] != DELETED_OWNER

    @property
    def before(self) -> Values | None:
        """The row as it was applied last, if that is known and still here."""
        return None if self.is_refilled else self.draft.before

    def differs(self, name: str) -> bool:
        """Return whether a column of the draft is to be applied."""
        return self.is_refilled or self.draft.differs(name)


async def apply_assistants(
    connection: AsyncConnection,
    changes: list[Change],
    drafts: Sequence[Draft],
    organization_ids: Mapping[str, int],
    deletion_times: Mapping[int, int],
) -> None:
    """Apply the current rows of assistants, and store the outcomes in the drafts.

    Args:
        connection: The connection of the transaction.
        changes: The changes for the audit log.
        drafts: The assistants.
        organization_ids: The ids of their organisations by their slugs.
        deletion_times: The deletion times of the deleted ones, by their ids.
    """
    ids = [draft.id for draft in drafts]
    query = ROWS.where(assistants.c.id.in_(ids)).order_by(assistants.c.id)
    records = await connection.execute(query.with_for_update(of=assistants))
    rows = {row.id: row for row in map(Row._make, records)}
    await _set_imported(connection, rows, [each for each in drafts if each.before is None])
    plans = []
    for draft in drafts:
        row = rows.get(draft.id)
        if row is None:
            draft.refusal = "" if draft.after is None else "It was not imported."
        else:
            plans.append(_gone(draft, row) if draft.after is None else _plan(draft, row))
    for plan in plans:
        _name(plan, organization_ids, deletion_times)
    namings = [plan.naming for plan in plans if plan.naming]
    await settle_names(connection, namings)
    for plan in plans:
        await _write(connection, changes, plan)


async def _set_imported(
    connection: AsyncConnection, rows: Mapping[int, Row], drafts: Sequence[Draft]
) -> None:
    """Take the imported row as the one that was applied last, as far as it is known."""
    query = select(assistant_versions.c.assistant_id, assistant_versions.c.document).where(
        assistant_versions.c.assistant_id.in_([draft.id for draft in drafts]),
        assistant_versions.c.action == "import",
    )
    documents = {record.assistant_id: record.document for record in await connection.execute(query)}
    for draft in drafts:
        if draft.id in documents:
            imported = row_of_snapshot(rows[draft.id], documents[draft.id])
            values = {name: getattr(imported, name) for name in (*COLUMNS, *_TIMES)}
            draft.before = {**values, SHARED_WITH: sorted(imported.shares.users)}


def _plan(draft: Draft, row: Row) -> _Plan:
    plan = _Plan(draft, row)
    after = draft.after
    assert after is not None  # noqa: S101 - the caller looked
    if not (draft.was_gone or any(draft.differs(name) for name in after)):
        return plan
    for name in _PLAIN:
        mine = getattr(row, name)
        if plan.differs(name) and mine != after[name]:
            plan.columns[name] = after[name]
            is_edit = not (plan.is_refilled or draft.was(name, mine) or mine is None)
            if is_edit and name not in _TIMES:
                draft.lost.append(name)
    _plan_identity(plan, after)
    if any(plan.differs(name) for name in ("metadata", "rag_top_k", "rag_collections")):
        _plan_metadata(plan, after)
    if plan.differs(SHARED_WITH):
        _plan_shares(plan, after)
    return plan


def _plan_identity(plan: _Plan, after: Values) -> None:
    draft, row = plan.draft, plan.row
    is_back = row.deleted and after["owner"] != DELETED_OWNER
    if is_back and not draft.was_gone and not draft.was("owner", DELETED_OWNER):
        draft.lost.append("deletion")
    for name in _IDENTITY:
        mine, value = getattr(row, name), after[name]
        if mine == value or not (is_back or draft.differs(name)):
            continue
        if name == "name" and mine == numbered_name(value, row.id):
            continue
        plan.columns[name] = value
        if not (row.deleted or _is_known(draft, name, mine)):
            draft.lost.append(name)
    if is_back:
        plan.columns["deleted_at"] = None


def _is_known(draft: Draft, name: str, mine: str) -> bool:
    if name != "name" or draft.before is None:
        return draft.was(name, mine)
    return mine in (draft.before["name"], numbered_name(draft.before["name"], draft.id))


def _plan_metadata(plan: _Plan, after: Values) -> None:
    draft, row = plan.draft, plan.row
    before = None if plan.before is None else _metadata(plan.before)
    plan.edit = merge()(RowMetadata(row.metadata, row.legacy), before, _metadata(after))
    document = plan.edit.document
    if plan.edit.text != row.metadata:
        plan.columns["metadata"] = plan.edit.text
        plan.columns["title"] = "" if document is None else displayed_title(document)
    draft.lost += plan.edit.lost


def _metadata(values: Values) -> RowMetadata:
    columns = LegacyColumns(values["rag_top_k"], values["rag_collections"])
    return RowMetadata(values["metadata"], columns)


def _plan_shares(plan: _Plan, after: Values) -> None:
    """Add the users with whom the other installation shares now, and remove its former ones."""
    draft, row = plan.draft, plan.row
    was = set() if plan.before is None else set(plan.before[SHARED_WITH])
    now = set(after[SHARED_WITH])
    removed = was - now
    if row.shares.editors & removed:
        draft.lost.append("sharing")
    editors = row.shares.editors - removed
    users = ((row.shares.users | (now - was)) - removed) - editors - {after["owner"]}
    plan.columns["sharing"] = Shares(users, editors).text


def _gone(draft: Draft, row: Row) -> _Plan:
    plan = _Plan(draft, row)
    if row.deleted:
        return plan
    now = int(time.time())
    plan.columns = {"owner": DELETED_OWNER, "name": f"{row.name}_deleted_{now}", "deleted_at": now}
    edits = edited_here(draft, row)
    if edits:
        draft.note = (
            f"{draft.origin} deleted it. Version {row.revision} has what changed in Heddle: "
            f"{', '.join(edits)}."
        )
    return plan


def edited_here(draft: Draft, row: Row) -> list[str]:
    """Return the fields that changed here since the row was applied last."""
    if draft.before is None:
        return ["all fields"]
    names = [name for name in _PLAIN if not draft.was(name, getattr(row, name))]
    known = _metadata(draft.before)
    # If the other side had removed all of the metadata, what Heddle changed would be lost.
    nothing = RowMetadata("[]", known.columns)
    edit = merge()(RowMetadata(row.metadata, row.legacy), known, nothing)
    return [*names, *edit.lost]


def _name(
    plan: _Plan, organization_ids: Mapping[str, int], deletion_times: Mapping[int, int]
) -> None:
    """Separate the columns that must be unique from the others."""
    columns, row = plan.columns, plan.row
    if columns.get("owner") == DELETED_OWNER and plan.draft.after is not None:
        columns["deleted_at"] = deletion_times.get(row.id, int(time.time()))
    if not columns.keys() & set(_IDENTITY):
        return
    identity = {name: columns.pop(name, getattr(row, name)) for name in _IDENTITY}
    slug = identity.pop("organization")
    plan.naming = Naming(row.id, {"organization_id": organization_ids[slug], **identity})


async def _write(connection: AsyncConnection, changes: list[Change], plan: _Plan) -> None:
    draft, row = plan.draft, plan.row
    known = row._asdict()
    changed = {name: v for name, v in plan.columns.items() if v != known.get(name)}
    if not changed and plan.naming is None:
        return
    draft.changed = True
    values = {**changed, "revision": row.revision + 1, "updated_at": int(time.time())}
    await connection.execute(update(assistants).where(assistants.c.id == row.id).values(**values))
    record = (await connection.execute(ROWS.where(assistants.c.id == row.id))).one()
    written = Row._make(record)
    if "sharing" in changed:
        await write_users(connection, written)
    if plan.edit is not None:
        await _write_original(connection, plan.edit, draft, row)
    if draft.lost:
        names = ", ".join(dict.fromkeys(draft.lost))
        draft.note = (
            f"Changed in {draft.origin} and in Heddle: {names}. {draft.origin}'s values apply; "
            f"version {row.revision} has the others."
        )
    await save(connection, changes, ACTION, row, written, note=draft.note)


async def _write_original(
    connection: AsyncConnection, edit: MergedMetadata, draft: Draft, row: Row
) -> None:
    """Store the other installation's row as the original, for a rollback of the migration."""
    if edit.document is None:
        await connection.execute(delete(originals).where(originals.c.assistant_id == row.id))
        return
    assert draft.after is not None  # noqa: S101 - there is an edit
    stored = select(originals.c.migrated).where(originals.c.assistant_id == row.id)
    # What holds edits of Heddle differs from every migration, so that a rollback refuses it.
    migrated = (await connection.scalar(stored) or "") if edit.is_merged else edit.text
    values = {
        "assistant_id": row.id,
        "metadata": draft.after["metadata"],
        "from_version": 1,
        "to_version": newest(),
        "migrated": migrated,
        "created_at": int(time.time()),
    }
    await connection.execute(keeping(connection), [values])


@cache
def merge() -> Merge:
    """Return the function of the installed package, which knows the form of the other side."""
    merging: Merge
    for _, merging in packages.installed("heddle.assistants.following"):
        return merging
    raise NotSetUpError(
        "No package that merges metadata is installed beside the assistants service. Install one."
    )
