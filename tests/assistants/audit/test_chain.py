"""The chain of events: changes of the database by other programs are reported."""

import asyncio

import pytest
from assistants.audit.reading import changed, events, faults
from assistants.serving import ADA, ADMIN, SECRET, Service, serving
from heddle.audit.v1 import audit_pb2 as pb
from heddle.audit.v1.audit_pb2_grpc import AuditServiceStub
from heddle_assistants.audit import verification
from heddle_assistants.audit.log import AuditLog, open_audit_log
from heddle_assistants.database.encryption import Keys
from heddle_assistants.database.schema import audit_chain, audit_events, audit_keys
from heddle_runtime.contract.audit import Change
from heddle_runtime.storage.database.engine import Database
from runtime.examples import repetitions
from sqlalchemy import Delete, Insert, Update, delete, insert, select, text, update

KEYS = Keys.of([SECRET])
Statement = Delete | Insert | Update


def at(number: int) -> Update:
    """Return a change of one event."""
    return update(audit_events).where(audit_events.c.number == number)


COPIED = [column.name for column in audit_events.c if column.name != "number"]
ATTACKS: dict[str, tuple[list[Statement], list[str]]] = {
    "nothing": ([], []),
    "another actor": ([at(3).values(subject="eve")], ["Event 3 is changed or inserted."]),
    "another time": ([at(3).values(recorded_at=1)], ["Event 3 is changed or inserted."]),
    "another digest": (
        [at(3).values(digest=audit_events.c.previous_digest)],
        ["Event 3 is changed or inserted."],
    ),
    "another key": (
        [at(3).values(key_id="other")],
        ["Event 3 is not verifiable: its key is encrypted with another secret, or was removed."],
    ),
    "an event less": (
        [delete(audit_events).where(audit_events.c.number == 3)],
        ["Event 3 is missing."],
    ),
    "the first events less": (
        [delete(audit_events).where(audit_events.c.number < 3)],
        ["Events 1 to 2 are missing."],
    ),
    "the last events less": (
        [delete(audit_events).where(audit_events.c.number > 3)],
        ["Events 4 to 5 are missing."],
    ),
    "the last events less, and the record of the newest changed": (
        [
            delete(audit_events).where(audit_events.c.number > 3),
            update(audit_chain).values(last_number=3),
        ],
        [
            "Event 3 is recorded as the newest in a record that was changed.",
            "Event 3 is not the one that was recorded as the newest.",
        ],
    ),
    "all events less": (
        [delete(audit_events)],
        ["Events 1 to 5 are missing."],
    ),
    "an event more": (
        [
            insert(audit_events).from_select(
                ["number", *COPIED],
                select(text("6"), *(audit_events.c[name] for name in COPIED)).where(
                    audit_events.c.number == 5
                ),
            )
        ],
        ["Event 6 is changed or inserted.", "Event 6 is inserted after the newest event."],
    ),
    "two events exchanged": (
        [at(3).values(number=9), at(4).values(number=3), at(9).values(number=4)],
        ["Event 3 is changed or inserted.", "Event 4 is changed or inserted."],
    ),
}


@pytest.fixture
async def log(database: Database) -> AuditLog:
    """A log with five events."""
    opened = await open_audit_log(database, KEYS)
    for number in range(1, 6):
        await add(opened, number)
    return opened


async def add(log: AuditLog, number: int) -> None:
    """Record a change of one object."""
    async with log.writing() as (_, changes):
        changes.append(Change("assistant.create", str(number), "uni", after={"name": "n"}))


async def faults_of(database: Database, known: pb.KnownEvent | None = None) -> list[str]:
    """Return what is wrong with the log."""
    part = await verification.verified(database, KEYS, 0, known)
    return [each.description for each in part.faults]


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize("name", ATTACKS)
async def test_a_change_of_the_chain_is_reported(database: Database, name: str) -> None:
    statements, expected = ATTACKS[name]
    async with database.writing() as connection:
        for statement in statements:
            await connection.execute(statement)
    assert await faults_of(database) == expected


@pytest.mark.usefixtures("log")
async def test_an_older_copy_of_the_database_lacks_a_known_event(database: Database) -> None:
    part = await verification.verified(database, KEYS, 0, None)
    third, newest = part.events[2], part.events[-1]
    known = pb.KnownEvent(number=newest["number"], digest=newest["digest"])
    assert await faults_of(database, known) == []
    known.number = 9
    assert await faults_of(database, known) == ["Events 6 to 9 are missing."]
    known = pb.KnownEvent(number=third["number"], digest=newest["digest"])
    assert await faults_of(database, known) == ["Event 3 is another than the known one."]


@pytest.mark.usefixtures("log")
async def test_who_removes_the_record_of_the_newest_event_leaves_an_event(
    database: Database,
) -> None:
    async with database.writing() as connection:
        await connection.execute(delete(audit_events).where(audit_events.c.number > 3))
        await connection.execute(delete(audit_chain))
    await open_audit_log(database, KEYS)
    assert await faults_of(database) == []
    async with database.reading() as connection:
        query = select(audit_events.c.action).where(audit_events.c.number == 4)
        assert await connection.scalar(query) == "audit.repair"


@pytest.mark.usefixtures("log")
async def test_events_remain_verifiable_after_the_encryption_key_is_replaced(
    database: Database,
) -> None:
    new = Keys.of(["n" * 32])
    await open_audit_log(database, Keys.of(["n" * 32, SECRET]))
    part = await verification.verified(database, new, 0, None)
    assert (len(part.events), list(part.faults)) == (5, [])


@pytest.mark.usefixtures("log")
async def test_without_the_former_encryption_key_the_log_goes_on_with_another_key(
    database: Database,
) -> None:
    with pytest.raises(ValueError, match="HEDDLE_ASSISTANTS_ENCRYPTION_KEY"):
        await open_audit_log(database, Keys.of(["n" * 32]))
    later = await open_audit_log(database, Keys.of(["n" * 32]), refuse=False)
    await add(later, 6)
    part = await verification.verified(database, Keys.of(["n" * 32]), 0, None)
    assert [each.first_number for each in part.faults] == [1, 2, 3, 4, 5]
    part = await verification.verified(database, Keys.of([SECRET, "n" * 32]), 0, None)
    assert list(part.faults) == []


async def test_no_key_is_in_the_database_in_clear_text(log: AuditLog, database: Database) -> None:
    async with database.reading() as connection:
        [row] = (await connection.execute(select(audit_keys))).all()
    assert row.sealed.startswith("heddle:sealed:1:")
    assert log._keys.by_id[row.id].hex() not in row.sealed  # noqa: SLF001 - there is no way to it


async def test_expired_events_are_deleted_and_the_rest_stays_verifiable(
    log: AuditLog, database: Database
) -> None:
    async with database.writing() as connection:
        for number in (1, 2):
            await connection.execute(at(number).values(recorded_at=1))
    await log.expire(30)
    await log.expire(30)  # nothing is left to do
    async with database.reading() as connection:
        rows = (await connection.execute(select(audit_events))).mappings().all()
    actions = [row["action"] for row in sorted(rows, key=lambda row: row["number"])]
    assert actions == [*["assistant.create"] * 3, "audit.expire"]
    assert await faults_of(database) == []
    async with database.writing() as connection:
        await connection.execute(delete(audit_events).where(audit_events.c.number == 3))
    assert await faults_of(database) == ["Event 3 is missing."]


async def test_several_writers_make_one_chain(database_url: str) -> None:
    count = repetitions(50)
    async with serving(database_url) as one, serving(database_url) as other:

        async def create(service: Service, prefix: str) -> None:
            for number in range(count):
                await service.as_(ADA).create(f"{prefix}{number}")

        writers = ((one, "a"), (other, "b"), (one, "c"), (other, "d"))
        await asyncio.gather(*(create(*writer) for writer in writers))
        log = await events(one, page_size=7)
        assert [each.number for each in log] == list(range(1, 4 * count + 1))
        names = {changed(each)["name"][1] for each in log}
        assert len(names) == 4 * count
        assert await faults(other) == []


async def test_a_long_chain_is_verified_in_parts(
    service: Service, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "PART", 3)
    for number in range(10):
        await service.as_(ADA).create(f"a{number}")
    assert await faults(service) == []
    async with database.writing() as connection:
        await connection.execute(at(4).values(subject="eve"))
    assert await faults(service) == ["Event 4 is changed or inserted."]
    stub = AuditServiceStub(service.connection)
    part = await service.as_(ADMIN).ask(stub.VerifyAuditEvents, pb.VerifyAuditEventsRequest())
    assert (part.verified_count, part.newest.number, bool(part.next_page_token)) == (3, 0, True)
