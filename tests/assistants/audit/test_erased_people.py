"""Events of a person who was erased: a pseudonym is left, and the chain is valid."""

from typing import Any

import pytest
from heddle.audit.v1 import audit_pb2 as pb
from heddle_assistants.audit import verification
from heddle_assistants.audit.log import AuditLog, open_audit_log
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import audit_events
from heddle_runtime.contract.audit import Change
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.people import Person
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, update

KEYS = Keys.of(["a-secret-of-at-least-32-characters"])
ANA = Person("ana@uni.example", "uni")
OWNED = {"owner": ANA.email, "name": "Ana's tutor", "title": "Ana's"}
HERS = [
    Change("user.create", ANA.email, "uni", after={"name": "Ana Weaver", "role": "creator"}),
    Change("assistant.create", "1", "uni", after=OWNED),
    Change("assistant.update", "1", "uni", {"title": "Ana's"}, {"title": "Weaving"}),
    Change("key.create", "k1", "uni", after={"user": ANA.email, "name": "Ana's laptop"}),
    Change("assistant.share", "2", "uni", {"sharing": ""}, {"sharing": f"use:{ANA.email}"}),
]
OTHERS = [
    Change("assistant.create", "2", "uni", after={"owner": "bea@uni.example", "name": "loom"}),
    Change("user.create", ANA.email, "college", after={"name": "Ana Weaver"}),
    Change("key.create", "k2", "uni", after={"user": "diana@uni.example", "name": "Di's laptop"}),
    Change("key.create", "k3", "uni", after={"user": "ana@uni.example.net", "name": "n"}),
]


@pytest.fixture
async def log(database: Database) -> AuditLog:
    opened = await open_audit_log(database, KEYS)
    for change in (*OTHERS, *HERS):
        CALLER.set(Caller("req_1", Identity("root@heddle.example", "main", ("creator",))))
        async with opened.writing() as (_, changes):
            changes.append(change)
    CALLER.set(Caller("req_2", Identity(ANA.email, "uni", key_id="k1")))
    async with opened.writing() as (_, changes):
        changes.append(Change("file.create", "file-1", "uni", after={"name": "diary of Ana"}))
    return opened


async def rows(database: Database) -> list[Any]:
    async with database.reading() as connection:
        query = select(audit_events).order_by(audit_events.c.number)
        return [*(await connection.execute(query))]


async def faults(database: Database, known: pb.KnownEvent | None = None) -> list[str]:
    part = await verification.verified(database, KEYS, 0, known)
    return [each.description for each in part.faults]


async def test_a_pseudonym_stands_for_an_erased_person(database: Database, log: AuditLog) -> None:
    assert await log.people.count(ANA) == 5
    before = await rows(database)

    assert await log.people.erase(ANA) == len(HERS) + 1

    after = await rows(database)
    assert [each.digest for each in after] == [each.digest for each in before]
    assert [each.action for each in after] == [each.action for each in before]
    others, hers = after[: len(OTHERS)], after[len(OTHERS) :]
    assert others == before[: len(OTHERS)]
    text = str(hers)
    for gone in (ANA.email, "Ana Weaver", "Ana's", "diary", "Weaving"):
        assert gone not in text
    pseudonym = log.people.pseudonym(ANA)
    assert hers[0].object_id == hers[-1].subject == pseudonym
    assert f"use:{pseudonym}" in hers[4].changes
    assert '"title"' in hers[2].changes
    assert await log.people.count(ANA) == 0
    assert await log.people.erase(ANA) == 0


async def test_the_log_of_an_erased_person_is_valid(database: Database, log: AuditLog) -> None:
    newest = (await rows(database))[-1]
    known = pb.KnownEvent(number=newest.number, digest=newest.digest)
    await log.people.erase(ANA)
    assert await faults(database, known) == []
    async with log.writing() as (_, changes):
        changes.append(Change("assistant.create", "3", "uni", after={"name": "n"}))
    assert await faults(database, known) == []


@pytest.mark.parametrize(
    "values",
    [{"subject": "eve"}, {"changes": "[]"}, {"erased_digest": ""}, {"digest": "00"}],
    ids=str,
)
async def test_a_changed_event_of_an_erased_person_is_found(
    database: Database, log: AuditLog, values: dict[str, str]
) -> None:
    await log.people.erase(ANA)
    async with database.writing() as connection:
        changed = update(audit_events).where(audit_events.c.number == len(OTHERS) + 2)
        await connection.execute(changed.values(**values))
    assert any("6 is changed or inserted" in each for each in await faults(database))


@pytest.mark.usefixtures("log")
async def test_an_event_cannot_be_called_erased(database: Database) -> None:
    async with database.writing() as connection:
        changed = update(audit_events).where(audit_events.c.number == 1)
        await connection.execute(changed.values(subject="eve", erased_digest="00"))
    assert await faults(database) == ["Event 1 is changed or inserted."]
