"""The personal data of the assistants service."""

import json
from collections.abc import AsyncGenerator, Collection, Sequence
from typing import Any

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.contract.audit import Change
from heddle_runtime.identity.people import Erasure, Person, json_file, place
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, Table, delete, or_, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.accounts.owner_organizations import existing_organization
from heddle_assistants.audit.log import AuditLog
from heddle_assistants.conversations.owners import Owners
from heddle_assistants.database import schema
from heddle_assistants.database.schema import organizations, users
from heddle_assistants.people.erasing import Erasing, naming
from heddle_assistants.people.person_tables import Subject, places_of, subject_of

_EVENTS = "audit_events"
_KEYS = {"sessions", "passwords", "api_keys"}
_LAST = {"users", "organizations"}
"""The tables that are erased last: until then they name the persons who need a pseudonym."""
ALL = frozenset(schema.metadata.tables)
_PARENTS = {
    "assistant_id": schema.assistants,
    "user_id": schema.users,
    "group_id": schema.learner_groups,
}


class DatabaseData:
    """Lists, exports and erases the rows of a person. Implements `PersonalData`."""

    def __init__(self, database: Database, audit: AuditLog, owners: Owners) -> None:
        self._database = database
        self._audit = audit
        self._owners = owners

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return the tables that have rows of people."""
        async with self._database.reading() as connection:
            subject = await self._subject(connection, person)
            places = [
                place(each.table.name, await each.count(connection), each.treatment)
                for each in places_of(subject)
            ]
        events = await self._audit.people.count(person)
        return [*places, place(_EVENTS, events, pb.TREATMENT_PSEUDONYMISED)]

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield a file for each table."""
        async with self._database.reading() as connection:
            subject = await self._subject(connection, person)
            owner = await self._owners.of(connection, subject.organization_id, person.email)

            def open_(value: bytes, row: str) -> Any:  # noqa: ANN401 - any JSON value
                return json.loads(owner.sealing.open(value, row)) if owner else None

            rows = {
                each.table.name: await each.rows(connection, open_) for each in places_of(subject)
            }
        rows[_EVENTS] = await self._audit.people.rows(person)
        for name, values in rows.items():
            for file in json_file(name, values):
                yield file

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Erase the rows, and put pseudonyms into the events of the audit log."""
        if erasure.person.email:
            places = await self._erase_person(erasure)
        else:
            places = await self._erase_organization(erasure)
        if not erasure.access_only:
            await self._database.forget_deleted()
        return places

    async def _subject(self, connection: AsyncConnection, person: Person) -> Subject:
        return await subject_of(connection, person, self._audit.people.learner(person))

    async def _erase_person(self, erasure: Erasure) -> Sequence[pb.Place]:
        pseudonym = self._audit.people.pseudonym(erasure.person)
        async with self._database.reading() as connection:
            subject = await self._subject(connection, erasure.person)
        snapshots = [] if erasure.access_only else await naming(self._database, subject)
        async with self._audit.writing() as (connection, changes):
            subject = await self._subject(connection, erasure.person)
            erasing = Erasing(connection, changes, subject, erasure, pseudonym)
            places = await erasing.run(snapshots)
        if erasure.access_only:
            return places
        count = await self._audit.people.erase(erasure.person)
        return [*places, place(_EVENTS, count, pb.TREATMENT_PSEUDONYMISED)]

    async def _erase_organization(self, erasure: Erasure) -> Sequence[pb.Place]:
        slug = erasure.person.organization
        async with self._audit.writing() as (connection, changes):
            changes.append(Change("organization.erase", slug, slug))
            await connection.execute(update(users).values(enabled=False).where(_of(slug)))
            places = await removed(connection, slug, _KEYS if erasure.access_only else ALL - _LAST)
        if erasure.access_only:
            return places
        async with self._database.reading() as connection:
            emails = {*await connection.scalars(select(users.c.email).where(_of(slug)))}
        events = 0
        for email in emails | await self._audit.people.addresses(slug):
            *_, last = await self._erase_person(Erasure(Person(email, slug)))
            events += last.count
        async with self._audit.writing() as (connection, changes):
            changes.append(Change("organization.delete", slug, slug))
            places += await removed(connection, slug, ALL)
        return [*places, place(_EVENTS, events, pb.TREATMENT_PSEUDONYMISED)]


def _of(slug: str) -> ColumnElement[bool]:
    query = select(organizations.c.id).where(organizations.c.slug == slug)
    return users.c.organization_id.in_(query)


async def removed(connection: AsyncConnection, slug: str, names: Collection[str]) -> list[pb.Place]:
    """Delete the rows of an organisation in some tables; return how many each had.

    Raises:
        NotFoundError: There is no such organisation.
    """
    identifier = await existing_organization(connection, slug)
    places = []
    for table in reversed(schema.metadata.sorted_tables):  # children first
        conditions = _conditions(table, identifier)
        if table.name in names and conditions:
            deleted = await connection.execute(delete(table).where(or_(*conditions)))
            places.append(place(table.name, deleted.rowcount, pb.TREATMENT_DELETED))
    return places


def _conditions(table: Table, organization: int) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [
        table.c[name].in_(select(parent.c.id).where(parent.c.organization_id == organization))
        for name, parent in _PARENTS.items()
        if name in table.c
    ]
    name = "id" if table is schema.organizations else "organization_id"
    return [*conditions, table.c[name] == organization] if name in table.c else conditions
