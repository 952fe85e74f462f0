"""Imports one batch of rows in one transaction."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from heddle.assistant.v1 import rows_pb2 as pb
from heddle_conversion.identifiers import DELETED_OWNER, MAX_ROW_ID
from heddle_conversion.import_notes import is_incomplete, is_unusable
from heddle_runtime.contract.audit import Change
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation, to_status
from heddle_runtime.http.egress import Egress
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import insert, select
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.batches import batch_change, ranges
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import BatchRow
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import assistants, organizations, usage
from heddle_assistants.imports import organizations as organization_import
from heddle_assistants.imports.conflict_resolution import (
    Draft,
    insert_new,
    key_of,
    present_rows,
    resolve,
)
from heddle_assistants.imports.faults import note_faults
from heddle_assistants.imports.kinds import KINDS, Kind
from heddle_assistants.repository.messages import column_values
from heddle_assistants.repository.saving import save_new
from heddle_assistants.validation import Validation

_ORGANIZATIONS = "organizations"
_USAGE = "usage"
_ADDRESSES = ("email", "owner", "owner_email")
_USAGE_KEY = ("assistant_id", "connector", "model")
_UNKNOWN = {"usage_unknown": 0, "cached_tokens": 0, "unpriced_tokens": 0}


@dataclass(eq=False, slots=True)
class RowImport:
    """Imports rows. Any number of imports may run at once."""

    database: Database
    """The database into which rows are inserted."""
    audit: AuditLog
    """Opens the transactions of imports."""
    keys: Keys
    """Encrypt the secrets in an organisation's settings."""
    egress: Egress
    """The policy for the addresses of organisations' servers."""
    validation: Validation
    """Checks the assistants."""

    async def run(
        self, batch: pb.RowBatch, earlier: pb.RowBatch, *, dry_run: bool
    ) -> list[pb.ImportedRow]:
        """Insert the new rows, or return what would happen.

        Args:
            batch: Rows of one kind.
            earlier: Of a dry run, the keys of rows before them.
            dry_run: Whether to write nothing.

        Raises:
            InvalidRequestError: The batch is not of one kind, or a row is not valid.
        """
        names = [field.name for field, _ in batch.ListFields()]
        if len(names) != 1:
            violation = Violation("rows", "must be rows of one kind")
            raise InvalidRequestError("The batch is not valid.", [violation])
        drafts = [Draft(_values(row)) for row in getattr(batch, names[0])]
        async with self._transaction(dry_run=dry_run) as (connection, changes):
            if names[0] == _USAGE:
                _check_ids(drafts, "assistant_id")
                await _place_usage(connection, drafts, dry_run=dry_run)
                changes.extend(_usage_changes(drafts))
                return [_message(draft, "") for draft in drafts]
            if names[0] == _ORGANIZATIONS:
                for draft in drafts:
                    organization_import.prepare(draft, self.keys, self.egress)
                await organization_import.place(connection, drafts, dry_run=dry_run)
                changes.extend(_organization_changes(drafts))
                return [_message(draft, "") for draft in drafts]
            kind = KINDS[names[0]]
            _check_ids(drafts)
            earlier_rows = [_values(row) for row in getattr(earlier, kind.field)]
            slugs = {draft.id: draft.values["organization"] for draft in drafts}
            await _set_organizations(connection, drafts, earlier_rows, dry_run=dry_run)
            if dry_run:
                present = await present_rows(connection, kind, drafts)
                present.keys |= {key_of(kind, values) for values in earlier_rows}
                resolve(kind, drafts, present)
            else:
                await insert_new(connection, kind, drafts)
                new = [each for each in drafts if each.is_new]
                if kind.table is assistants:
                    await save_new(connection, "import", [each.id for each in new])
                changes.extend(_changes(kind, new, slugs))
        if kind.table is assistants:
            await note_faults([draft for draft in drafts if draft.is_new], self.validation)
        return [_message(draft, _name(kind, draft)) for draft in drafts]

    async def faults(self, rows: Sequence[BatchRow]) -> Mapping[int, Sequence[str]]:
        """Return why assistants of an older format will not answer, or not with all their parts."""
        drafts = [Draft(_legacy_values(row)) for row in rows]
        await note_faults(drafts, self.validation)
        return {
            draft.id: [note for note in draft.notes if is_unusable([note]) or is_incomplete([note])]
            for draft in drafts
        }

    @asynccontextmanager
    async def _transaction(
        self, *, dry_run: bool
    ) -> AsyncGenerator[tuple[AsyncConnection, list[Change]]]:
        if dry_run:
            async with self.database.reading() as connection:
                yield connection, []
        else:
            async with self.audit.writing() as (connection, changes):
                yield connection, changes


def _changes(kind: Kind, new: Sequence[Draft], slugs: Mapping[int, str]) -> list[Change]:
    if not new:
        return []
    ids = [draft.id for draft in new]
    organizations_of_rows = {slugs[number] for number in ids}
    organization = organizations_of_rows.pop() if len(organizations_of_rows) == 1 else ""
    contents = [draft.values for draft in new]
    table = kind.table.name
    return [batch_change("import.insert", table, len(new), ranges(ids), contents, organization)]


def _organization_changes(drafts: Sequence[Draft]) -> list[Change]:
    new = [draft.values for draft in drafts if draft.is_new]
    slugs = [str(values["slug"]) for values in new]
    return [batch_change("import.insert", _ORGANIZATIONS, len(new), slugs, new)] if new else []


def _legacy_values(row: BatchRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "metadata": row.metadata,
        "rag_top_k": row.rag_top_k,
        "rag_collections": row.rag_collections,
        "deleted_at": 0 if row.owner == DELETED_OWNER else None,
    }


def _usage_changes(drafts: Sequence[Draft]) -> list[Change]:
    new = [draft.values for draft in drafts if draft.is_new]
    ids = ranges(values["assistant_id"] for values in new)
    return [batch_change("import.insert", _USAGE, len(new), ids, new)] if new else []


def _values(row: Message) -> dict[str, Any]:
    """Return the columns of a row, its e-mail address in canonical form."""
    values = column_values(row)
    return values | {name: canonical_email(values[name]) for name in _ADDRESSES if values.get(name)}


def _check_ids(drafts: Sequence[Draft], name: str = "id") -> None:
    for index, draft in enumerate(drafts):
        try:
            draft.values[name] = int(draft.values[name])
        except ValueError:
            draft.values[name] = 0
        if not 0 < draft.values[name] <= MAX_ROW_ID:
            violation = Violation(f"rows[{index}].{name}", "must be a positive whole number")
            raise InvalidRequestError("The batch is not valid.", [violation])


async def _set_organizations(
    connection: AsyncConnection,
    drafts: Sequence[Draft],
    earlier: Sequence[dict[str, Any]],
    *,
    dry_run: bool,
) -> None:
    """Set the id of each row's organisation; in a dry run a negative one for a new organisation."""
    rows = [*(draft.values for draft in drafts), *earlier]
    slugs = {values["organization"] for values in rows}
    query = select(organizations.c.slug, organizations.c.id)
    numbers = await connection.execute(query.where(organizations.c.slug.in_(slugs)))
    ids: dict[str, int] = {slug: number for slug, number in numbers}  # noqa: C416 - rows are no pairs to mypy
    missing = slugs - ids.keys()
    for draft in drafts:
        if draft.values["organization"] in missing and not dry_run:
            draft.error = NotFoundError("Its organisation was not imported.")
    ids |= {slug: -number for number, slug in enumerate(sorted(missing), start=1)}
    for values in rows:
        values["organization_id"] = ids[values.pop("organization")]


def _message(draft: Draft, name: str) -> pb.ImportedRow:
    if draft.error:
        outcome = pb.IMPORT_OUTCOME_REFUSED
    elif draft.present:
        outcome = pb.IMPORT_OUTCOME_PRESENT
    else:
        outcome = pb.IMPORT_OUTCOME_INSERTED
    return pb.ImportedRow(
        outcome=outcome,
        notes=draft.notes,
        error=to_status(draft.error) if draft.error else None,
        renamed_to=name,
    )


def _name(kind: Kind, draft: Draft) -> str:
    return str(draft.values[kind.key[0].name]) if draft.renamed else ""


async def _place_usage(
    connection: AsyncConnection, drafts: Sequence[Draft], *, dry_run: bool
) -> None:
    """Insert the drafts that are new, in the caller's transaction.

    A row that is there stays as it is, so what is imported again counts once.
    """
    ids = [draft.values["assistant_id"] for draft in drafts]
    key_columns = [usage.c[name] for name in _USAGE_KEY]
    rows = await connection.execute(select(*key_columns).where(usage.c.assistant_id.in_(ids)))
    present = {tuple(row) for row in rows}
    query = select(assistants.c.id, assistants.c.created_at).where(assistants.c.id.in_(ids))
    created_at = {row.id: row.created_at for row in await connection.execute(query)}
    for draft in drafts:
        values = draft.values
        created = values.pop("assistant_created_at")
        # In a dry run, the assistant may not be there yet.
        expected = created_at.get(values["assistant_id"], created if dry_run else None)
        if tuple(values[name] for name in _USAGE_KEY) in present:
            draft.present = True
        elif expected != created:
            message = "Its assistant is not imported, so its usage is not, either."
            draft.error = NotFoundError(message, id=str(values["assistant_id"]))
    new = [{**_UNKNOWN, **draft.values} for draft in drafts if draft.is_new]
    if new and not dry_run:
        await connection.execute(insert(usage), new)
