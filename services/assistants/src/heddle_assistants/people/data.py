"""What the assistants service stores of people."""

from collections.abc import AsyncGenerator, Sequence

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.people import Erasure, Person, json_file, place

from heddle_assistants.audit.log import AuditLog
from heddle_assistants.database.engine import Database
from heddle_assistants.people.erasing import Erasing
from heddle_assistants.people.places import places_of, subject_of
from heddle_assistants.people.snapshots import naming

_EVENTS = "audit_events"


class DatabaseData:
    """Lists, exports and erases the rows of a person. Implements `PersonalData`."""

    def __init__(self, database: Database, audit: AuditLog) -> None:
        self._database = database
        self._audit = audit

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return the tables that have rows of people."""
        async with self._database.reading() as connection:
            subject = await subject_of(connection, person)
            places = [
                place(each.table.name, await each.count(connection), each.treatment)
                for each in places_of(subject)
            ]
        events = await self._audit.people.count(person)
        return [*places, place(_EVENTS, events, pb.TREATMENT_PSEUDONYMISED)]

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield a file for each table."""
        async with self._database.reading() as connection:
            subject = await subject_of(connection, person)
            rows = {each.table.name: await each.rows(connection) for each in places_of(subject)}
        rows[_EVENTS] = await self._audit.people.rows(person)
        for name, values in rows.items():
            for file in json_file(name, values):
                yield file

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Erase the rows, and put a pseudonym into the events of the audit log."""
        pseudonym = self._audit.people.pseudonym(erasure.person)
        async with self._database.reading() as connection:
            subject = await subject_of(connection, erasure.person)
        snapshots = [] if erasure.access_only else await naming(self._database, subject)
        async with self._audit.writing() as (connection, changes):
            subject = await subject_of(connection, erasure.person)
            erasing = Erasing(connection, changes, subject, erasure, pseudonym)
            places = await erasing.run(snapshots)
        if erasure.access_only:
            return places
        count = await self._audit.people.erase(erasure.person)
        await self._database.forget_deleted()
        return [*places, place(_EVENTS, count, pb.TREATMENT_PSEUDONYMISED)]
