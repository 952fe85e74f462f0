"""Reads assistants in the newest format."""

from collections import OrderedDict

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import StoredColumns, convert_row, to_contract
from heddle_runtime.errors import MalformedAssistantError, UnavailableError
from heddle_runtime.identity.callers import Identity

from heddle_assistants.access import may_edit, may_see
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.repository.migrating import Migrations, Stored
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import no_assistant
from heddle_assistants.store import StoredAssistant

_TRIES = 20  # another caller may change the row before it is migrated
_REMEMBERED = 1000
_LARGEST_REMEMBERED = 32_000  # bytes


class Reader:
    """Finds assistants, and migrates them to the newest format when they are read."""

    def __init__(self, rows: Rows, migrations: Migrations) -> None:
        self._rows = rows
        self._migrations = migrations
        # By everything that the row says: what is remembered is never out of date.
        self._assistants: OrderedDict[Row, StoredAssistant] = OrderedDict()

    async def stored(self, identifier: str, identity: Identity) -> Stored | None:
        """Return an assistant's row and document, None if there is none that `identity` may use.

        Raises:
            MalformedAssistantError: The stored assistant cannot be read.
            NewerFormatError: The stored assistant has a newer format.
        """
        for _ in range(_TRIES):
            row = await self._rows.usable(identifier, identity)
            if row is None:
                return None
            if stored := await self._settled(row, identity):
                return stored
        raise changing(identifier)

    async def assistant(self, identifier: str, identity: Identity) -> StoredAssistant | None:
        """Return an assistant as a message of the contract, likewise."""
        for _ in range(_TRIES):
            row = await self._rows.usable(identifier, identity)
            if row is None:
                return None
            if known := self._assistants.get(row):
                return known
            if stored := await self._settled(row, identity):
                return self._remembered(stored)
        raise changing(identifier)

    async def before_edit(self, identifier: str, identity: Identity) -> tuple[Row, Stored | None]:
        """Return the row that `identity` may change, and its metadata; None if that is malformed.

        Raises:
            NewerFormatError: What is stored is of a newer format.
            NotFoundError: There is no assistant that `identity` may change.
        """
        row = await self._rows.get(identifier)
        if row is None or not may_edit(identity, row):
            raise no_assistant(identifier)
        try:
            return row, Stored(row, convert_row(row.id, row.metadata, row.legacy).metadata)
        except MalformedAssistantError:
            return row, None

    async def malformed(self, identifier: str, identity: Identity) -> Row | None:
        """Return the row of a malformed assistant, None if `identity` may not read it."""
        row = await self._rows.get(identifier)
        return row if row is not None and may_see(identity, row) else None

    async def _settled(self, row: Row, identity: Identity) -> Stored | None:
        try:
            return await self._migrations.settled(row)
        except MalformedAssistantError as error:
            if may_see(identity, row):
                raise
            # The violations quote the assistant.
            message = f"The assistant {row.id} cannot be used. Ask its owner to repair it."
            raise MalformedAssistantError(message, assistant=str(row.id)) from error

    def _remembered(self, stored: Stored) -> StoredAssistant:
        assistant = stored_assistant(stored)
        if assistant.assistant.ByteSize() <= _LARGEST_REMEMBERED:
            self._assistants[stored.row] = assistant
            if len(self._assistants) > _REMEMBERED:
                self._assistants.popitem(last=False)
        return assistant


def stored_assistant(stored: Stored) -> StoredAssistant:
    """Return a stored assistant as the catalogue returns it."""
    return StoredAssistant(
        contract(stored), stored.row.etag, stored.row.published, shares=stored.row.shares
    )


def contract(stored: Stored) -> pb.Assistant:
    """Return the assistant as a message, without its state in the store."""
    return to_contract(stored.document, StoredColumns.of(stored.row))


def changing(identifier: str) -> UnavailableError:
    """Return the error for an assistant that changes faster than it can be read."""
    message = f"The assistant {identifier!r} changes all the time. Try again."
    return UnavailableError(message, retry_after=1.0, assistant=identifier)
