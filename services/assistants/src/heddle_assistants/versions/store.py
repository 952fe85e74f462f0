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
from heddle_assistants.repository.saving import row_of_snapshot

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
            return [_message(each) for each in records]

    async def get(self, identifier: str, identity: Identity, number: int) -> Version:
        """Return one version; the newest if `number` is 0.

        Raises:
            NotFoundError: There is none that `identity` may read.
        """
        row = await self._catalog.editable(identifier, identity)
        query = select(versions).where(versions.c.assistant_id == row.id)
        query = query.order_by(versions.c.number.desc()).limit(1)
        if number:
            query = query.where(versions.c.number == number)
        async with self._database.reading() as connection:
            record = (await connection.execute(query)).one_or_none()
        if record is None:
            raise NotFoundError(
                f"The assistant {identifier!r} has no version {number}. List its versions: old "
                "ones are deleted.",
                assistant=identifier,
            )
        return Version(_message(record), row_of_snapshot(row, record.document))


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
