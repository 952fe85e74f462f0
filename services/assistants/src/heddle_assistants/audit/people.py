"""Persons in audit events: lists them, and replaces them by a pseudonym.

An event of which something was erased keeps its digest, so that the chain and the events that
an operator has noted stay as they are. `erased_digest` covers what is left of it.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.people import Person, mention
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import ColumnElement, RowMapping, and_, func, or_, select, tuple_, union, update
from sqlalchemy.ext.asyncio import AsyncConnection

from heddle_assistants.audit.chain import ChainKeys, locked_ends
from heddle_assistants.database.schema import audit_events

_NAMED = ("subject", "client_user", "object_id")
_OWNER = frozenset({"owner", "user"})
"""Fields that name the owner of an object; keys call it `user`."""
_CONTENTS = frozenset({"file", "document"})
"""Types of objects whose names are words of the person who changed them."""
_SECRET = {"before_digest", "after_digest", "previous_digest", "digest", "key_id", "erased_digest"}
_BATCH = 400
Objects = set[tuple[str, str]]


class PeopleInEvents:
    """Finds the events of a person, and erases the person from them."""

    def __init__(self, database: Database, keys: ChainKeys) -> None:
        self._database = database
        self._keys = keys

    def pseudonym(self, person: Person) -> str:
        """Return the pseudonym of an erased person, which only the service can compute."""
        digest = self._keys.of_object(f"person {person.organization} {person.email}")
        return f"erased-{digest[:16]}"

    def learner(self, person: Person) -> str:
        """Return the pseudonym under which the questions of a person are counted."""
        return self._keys.of_object(f"learner {person.organization} {person.email}")[:32]

    async def addresses(self, organization: str) -> set[str]:
        """Return the addresses that acted in an organisation, or were its users."""
        columns = audit_events.c
        users = select(columns.object_id).where(
            columns.object_type == "user", columns.organization == organization
        )
        actors = select(columns.subject).where(columns.subject_organization == organization)
        async with self._database.reading() as connection:
            names = await connection.scalars(union(users, actors))
            return {canonical_email(each) for each in names if "@" in each}

    async def count(self, person: Person) -> int:
        """Return the number of events that name a person."""
        return len(await self.rows(person))

    async def rows(self, person: Person) -> list[dict[str, Any]]:
        """Return the events that name a person, without their digests."""
        async with self._database.reading() as connection:
            events = await _named(connection, person)
        return [
            {name: value for name, value in each.items() if name not in _SECRET} for each in events
        ]

    async def erase(self, person: Person) -> int:
        """Replace a person by a pseudonym, and return the number of changed events.

        Values of the person's objects are removed; the names of changed fields stay.
        """
        pseudonym = self.pseudonym(person)
        # The lock of the chain comes last in other transactions; this one needs no other lock.
        async with self._database.writing() as connection:
            await locked_ends(connection)
            named = await _named(connection, person)
            owned = _owned(named, person)
            others = [
                each
                for part in _parts(sorted(owned))
                for each in await _events(
                    connection,
                    (audit_events.c.organization == person.organization)
                    & tuple_(audit_events.c.object_type, audit_events.c.object_id).in_(part),
                )
            ]
            events = {each["number"]: each for each in (*named, *others)}
            changed = 0
            for event in events.values():
                values = _without(event, person, pseudonym, owned)
                if values:
                    changed += 1
                    await self._write(connection, event, values)
        return changed

    async def _write(
        self, connection: AsyncConnection, event: RowMapping, values: dict[str, Any]
    ) -> None:
        after = {**event, **values}
        if self._keys.knows(event["key_id"]):
            values["erased_digest"] = self._keys.of_erased_event(after)
        query = update(audit_events).where(audit_events.c.number == event["number"])
        await connection.execute(query.values(**values))


def _naming(person: Person) -> ColumnElement[bool]:
    """Return the condition of events in which a person's address stands."""
    columns, email = audit_events.c, person.email
    here = and_(
        columns.organization.in_((person.organization, "")),
        columns.subject_organization.in_((person.organization, "")),
    )
    acted = and_(
        columns.subject_organization == person.organization, func.lower(columns.subject) == email
    )
    in_organization = or_(here, columns.organization == person.organization)
    named = or_(
        *(func.lower(columns[name]) == email for name in _NAMED),
        func.lower(columns.changes).contains(email, autoescape=True),
    )
    return or_(acted, and_(in_organization, named))


async def _named(connection: AsyncConnection, person: Person) -> list[RowMapping]:
    """Return the events of `_naming` in which the address is not a part of a longer one."""
    texts = mention(person.email)
    return [
        each
        for each in await _events(connection, _naming(person))
        if any(each[name].lower() == person.email for name in _NAMED)
        or texts.search(each["changes"])
    ]


async def _events(connection: AsyncConnection, where: ColumnElement[bool]) -> Sequence[RowMapping]:
    query = select(audit_events).where(where).order_by(audit_events.c.number)
    return (await connection.execute(query)).mappings().all()


def _owned(events: Sequence[RowMapping], person: Person) -> Objects:
    owned: Objects = {("user", person.email)}
    for event in events:
        for name, *values in json.loads(event["changes"]):
            if name in _OWNER and person.email in [(each or "").lower() for each in values]:
                owned.add((event["object_type"], event["object_id"]))
    return owned


def _without(event: RowMapping, person: Person, pseudonym: str, owned: Objects) -> dict[str, Any]:
    own = (event["object_type"], event["object_id"]) in owned
    by_person = event["subject"].lower() == person.email
    values: dict[str, Any] = {
        name: pseudonym for name in _NAMED if event[name].lower() == person.email
    }
    texts = mention(person.email)
    dropped = own or (by_person and event["object_type"] in _CONTENTS)
    changes = [
        [name, *(None if dropped or each is None else texts.sub(pseudonym, each) for each in both)]
        for name, *both in json.loads(event["changes"])
    ]
    if (text := json.dumps(changes)) != event["changes"]:
        values["changes"] = text
    return values


def _parts(objects: list[tuple[str, str]]) -> Iterator[list[tuple[str, str]]]:
    for start in range(0, len(objects), _BATCH):
        yield objects[start : start + _BATCH]
