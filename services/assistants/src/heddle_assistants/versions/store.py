"""Reads the versions of assistants."""

import json
from typing import NamedTuple

from heddle.assistant.v1 import versions_pb2 as pb
from heddle_conversion.identifiers import timestamp
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Row as Record
from sqlalchemy import select

from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.schema import assistant_versions as versions
from heddle_assistants.repository.saving import INITIAL
from heddle_assistants.repository.snapshots import row_of_snapshot

_COLUMNS = [column for column in versions.c if column is not versions.c.document]


class Version(NamedTuple):
    """A version with the row as it was."""

    message: pb.AssistantVersion
    row: Row


class Versions:
    """Finds versions for those who may change the assistant."""

    def __init__(self, database: Database, catalog: Catalog) -> None:
        self._database = database
        self._catalog = catalog

    async def listed(
        self, identifier: str, identity: Identity, before: int, limit: int
    ) -> list[pb.AssistantVersion]:
        """Return versions, the newest first.

        Args:
            identifier: Of the assistant.
            identity: The caller.
            before: The number after the first; 0 for the beginning.
            limit: The maximum number of results.

        Raises:
            NotFoundError: There is no assistant in the database that `identity` may change.
        """
        row = await self._catalog.editable(identifier, identity)
        query = select(*_COLUMNS).where(versions.c.assistant_id == row.id)
        if before:
            query = query.where(versions.c.number < before)
        async with self._database.reading() as connection:
            records = await connection.execute(
                query.order_by(versions.c.number.desc()).limit(limit)
            )
            messages = [_message(each) for each in records]
        if not before and (not messages or messages[0].number < row.revision):
            messages.insert(0, _initial(row))
        return messages[:limit]

    async def get(self, identifier: str, identity: Identity, number: int) -> Version:
        """Return one version; the newest if `number` is 0.

        Raises:
            NotFoundError: There is none that `identity` may read.
        """
        row = await self._catalog.editable(identifier, identity)
        number = number or row.revision
        query = select(versions).where(
            versions.c.assistant_id == row.id, versions.c.number == number
        )
        async with self._database.reading() as connection:
            record = (await connection.execute(query)).one_or_none()
        if record is not None:
            return Version(_message(record), row_of_snapshot(row, record.document))
        if number == row.revision:
            return Version(_initial(row), row)
        raise _no_version(identifier, number)


def _no_version(identifier: str, number: int) -> NotFoundError:
    return NotFoundError(
        f"The assistant {identifier!r} has no version {number}. List its versions: old ones are "
        "deleted.",
        assistant=identifier,
    )


def _initial(row: Row) -> pb.AssistantVersion:
    """Return the version of a row that was not changed since there are versions."""
    return pb.AssistantVersion(
        number=row.revision, save_time=timestamp(row.updated_at), action=INITIAL
    )


def _message(record: Record[*tuple[object, ...]]) -> pb.AssistantVersion:
    return pb.AssistantVersion(
        number=record.number,
        save_time=timestamp(record.saved_at),
        author=record.author,
        action=record.action,
        changed_fields=json.loads(record.changed) if record.changed else [],
        restored_number=record.restored_number,
        note=record.note,
    )
