"""Changes rows: each call is one transaction that locks its row."""

import time
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from heddle_conversion import Conversion, convert_row, displayed_title, dump, newest
from heddle_conversion.json_text import same
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    MalformedAssistantError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_change
from sqlalchemy import delete, insert, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.access import may_edit
from heddle_assistants.accounts.owner_organizations import organization_id, owner_of_new
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.schema import assistants
from heddle_assistants.repository.journal import log_migration
from heddle_assistants.repository.migrating import Stored, keep_malformed, migrate
from heddle_assistants.repository.quotas import keep_quota
from heddle_assistants.repository.rows import locked
from heddle_assistants.repository.saving import last_save, save

Columns = Mapping[str, Any]
"""New values by the names of columns."""
Edit = Callable[[Stored], tuple[dict[str, Any], Columns]]
"""Returns the document and the columns that an assistant shall have, and changes neither."""


class Writer:
    """Makes, changes and deletes assistants."""

    def __init__(self, audit: AuditLog) -> None:
        self._audit = audit

    async def insert(
        self,
        document: dict[str, Any] | str,
        columns: Columns,
        identity: Identity,
        taken: Container[str],
    ) -> Stored:
        """Store a new assistant.

        Args:
            document: Its metadata in the newest format, or the text of malformed metadata.
            columns: The other columns. An empty `owner` is `identity`.
            identity: The caller.
            taken: Identifiers that it must not get.

        Raises:
            AlreadyExistsError: The owner has one of that name.
            PermissionDeniedError: `identity` may not make it for that owner.
        """
        now = int(time.time())
        with taken_names(columns["name"]):
            async with self._audit.writing() as (connection, changes):
                owner, organization = await owner_of_new(connection, identity, columns["owner"])
                values = {
                    **columns,
                    "owner": owner,
                    "organization_id": await organization_id(connection, organization),
                    "metadata": document if isinstance(document, str) else dump(document),
                    "title": "" if isinstance(document, str) else displayed_title(document),
                    "created_at": now,
                    "updated_at": now,
                }
                number = await _inserted(connection, values)
                while str(number) in taken:
                    await connection.execute(delete(assistants).where(assistants.c.id == number))
                    number = await _inserted(connection, values)
                row = await locked(connection, str(number))
                assert row is not None  # noqa: S101 - this transaction made it
                await save(connection, changes, "create", None, row)
        return Stored(row, {} if isinstance(document, str) else document)

    async def change(
        self,
        identifier: str,
        identity: Identity,
        etag: str,
        change: Callable[[Row], Columns],
        *,
        action: str,
    ) -> Row:
        """Change columns of an assistant, whatever its metadata is.

        Args:
            identifier: The identifier of the assistant.
            identity: The caller.
            etag: The etag that the caller read. Empty: any.
            change: Returns the new values.
            action: What the audit log calls the change.

        Raises:
            AlreadyExistsError: The owner has another one of the new name.
            ConflictError: It changed since it was read.
            NotFoundError: There is none that `identity` may edit.
            PermissionDeniedError: `identity` is not its owner.
        """
        with taken_names():
            async with self._audit.writing() as (connection, changes):
                before = await held_row(connection, identifier, identity, etag, owned=True)
                row = await written(connection, before, change(before))
                await save(connection, changes, action, before, row)
                return row

    async def edit(
        self,
        identifier: str,
        identity: Identity,
        etag: str,
        edit: Edit,
        *,
        repairs: bool = False,
        restored: int = 0,
    ) -> Stored:
        """Change an assistant likewise, and store it in the newest format.

        With `repairs`, malformed metadata counts as empty, and is stored as the original.
        `restored` is the number of the version that the edit restores.

        Raises:
            MalformedAssistantError: The stored assistant cannot be read, and `repairs` is off.
            NewerFormatError: The stored assistant has a newer format.
            PermissionDeniedError: `identity` may not change its quota.
        """
        with taken_names():
            async with self._audit.writing() as (connection, changes):
                before = await held_row(connection, identifier, identity, etag)
                held = before
                try:
                    conversion = convert_row(before.id, before.metadata, before.legacy)
                except MalformedAssistantError:
                    if not repairs:
                        raise
                    conversion = Conversion({}, newest(), newest(), ())
                    await keep_malformed(connection, before)
                if conversion.changed:
                    migrated = await migrate(connection, before, conversion)
                    assert migrated is not None  # noqa: S101 - nobody else changes what is held
                    held = migrated
                document, columns = edit(Stored(held, conversion.metadata))
                organization = before.organization
                document = keep_quota(document, conversion.metadata, identity, organization)
                if not same(document, conversion.metadata):
                    title = displayed_title(document)
                    columns = {**columns, "metadata": dump(document), "title": title}
                row = await written(connection, held, columns)
                action = "restore" if restored else "update"
                await save(
                    connection, changes, action, before, row, converted=held, restored=restored
                )
        if held is not before:
            log_migration(before, conversion, held.metadata)
        return Stored(row, document)


def no_assistant(identifier: str) -> NotFoundError:
    """Return the error about an assistant that is missing, or must seem so."""
    known = identifier[:200]
    return NotFoundError(f"No assistant is named {known!r}.", assistant=known)


async def held_row(
    connection: AsyncConnection,
    identifier: str,
    identity: Identity,
    etag: str,
    *,
    owned: bool = False,
) -> Row:
    """Return the row that `identity` may edit, locked until the transaction ends.

    Args:
        connection: The connection of the transaction.
        identifier: The identifier of the assistant.
        identity: The caller.
        etag: The etag that the caller read. Empty: any.
        owned: Whether only its owner and administrators may.

    Raises:
        ConflictError: It changed since it was read.
        NotFoundError: There is none.
        PermissionDeniedError: `identity` may edit it, and only its owner may do this.
    """
    row = await locked(connection, identifier)
    if row is None or not may_edit(identity, row):
        raise no_assistant(identifier)
    if owned and not may_change(identity, row):
        raise PermissionDeniedError(
            "Only the owner of the assistant and administrators may do this.", assistant=identifier
        )
    if etag and etag != row.etag:
        author, saved_at = await last_save(connection, row)
        by = f" by {author}" if author else ""
        raise ConflictError(
            f"The assistant {identifier!r} changed since it was read{by}. Read it again.",
            assistant=identifier,
            etag=row.etag,
            author=author,
            save_time=str(saved_at),
        )
    return row


async def _inserted(connection: AsyncConnection, values: Columns) -> int:
    query = insert(assistants).values(**values).returning(assistants.c.id)
    number: int = (await connection.execute(query)).scalar_one()
    return number


async def written(connection: AsyncConnection, row: Row, columns: Columns) -> Row:
    """Write the columns that differ, and return the row; write nothing if none does."""
    known = row._asdict()
    changed = {name: value for name, value in columns.items() if value != known.get(name)}
    if not changed:
        return row
    changed |= {"revision": row.revision + 1, "updated_at": int(time.time())}
    query = update(assistants).where(assistants.c.id == row.id).values(**changed)
    await connection.execute(query)
    return row._replace(**{name: changed[name] for name in changed.keys() & known.keys()})


@contextmanager
def taken_names(name: str = "") -> Iterator[None]:
    """Raise `AlreadyExistsError` if the block gives an assistant a name that its owner uses."""
    try:
        yield
    except IntegrityError:
        named = f"an assistant named {name!r}" if name else "another assistant of that name"
        raise AlreadyExistsError(f"The owner has {named} already.") from None
