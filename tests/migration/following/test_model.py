"""Random edits on both sides, compared with a model: none is lost without a note."""

import json
import random
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from assistants.postgres import Postgres
from assistants.serving import ADMIN, SERVICE, serving
from heddle.assistant.v1 import (
    assistant_pb2,
    following_pb2,
    following_pb2_grpc,
    rows_pb2_grpc,
    sharing_pb2,
    sharing_pb2_grpc,
)
from heddle.migration.v1 import record_pb2
from heddle_conversion.identifiers import DELETED_OWNER
from heddle_migration_service.following.applying import Applying
from heddle_migration_service.following.comparing import compare
from heddle_migration_service.following.rows import SOURCES, Known, Source
from heddle_migration_service.row_batches import RowBatches
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.storage.database.engine import open_database
from migration.following.following import METADATA, Followed, small_lamb
from runtime.examples import long_repetitions

RUNS = 2_000
RUNS_IN_A_DATABASE = 50
STEPS = 12
VALUES = ("one", "two", "three")
COLUMNS = ("description", "system_prompt", "prompt_template")
MEMBERS = ("llm", "own", "rag_processor", "rubric_id")
PROCESSORS = ("simple_rag", "no_rag", "rubric_rag", "context_aware_rag")
KNOWLEDGE = ("simple_rag", "context_aware_rag")
NAMES = {"llm": "model.model", "collections": "tools[", "top_k": "tools["}
"""What a note calls a field; the others have their own names."""
TOOLS = ("calculator", "weather", "dictionary")
Cells = dict[str, Any]


@dataclass
class Model:
    """What an assistant is on both sides."""

    id: int
    lamb: Cells
    """LAMB's row now."""
    applied: Cells
    """LAMB's row when it was applied last."""
    heddle: Cells
    """What Heddle should have."""
    tools: set[str] = field(default_factory=set)
    """Which were added in Heddle."""
    deleted: bool = False
    """Whether it was deleted in Heddle."""
    noted: int = 0
    """How many notes it must have at least."""


def new_cells(dice: random.Random) -> Cells:
    return {
        **{name: dice.choice(VALUES) for name in COLUMNS},
        "llm": dice.choice(VALUES),
        "own": dice.choice(VALUES),
        "rag_processor": dice.choice(PROCESSORS),
        "rubric_id": dice.choice(VALUES),
        "collections": dice.choice(VALUES),
        "top_k": dice.randrange(1, 9),
        "published": False,
        "users": frozenset(),
        "there": True,
    }


def row_of(number: int, cells: Cells) -> dict[str, Any]:
    """Return LAMB's row."""
    metadata = METADATA | {name: cells[name] for name in MEMBERS}
    return {
        "id": number,
        "name": f"1_n{number}",
        "owner": "ana@example.org",
        **{name: cells[name] for name in COLUMNS},
        "api_callback": json.dumps(metadata),
        "RAG_collections": cells["collections"],
        "RAG_Top_k": cells["top_k"],
    }


def changed(dice: random.Random, name: str, before: Any) -> Any:
    """Return another value of a cell."""
    if name == "rag_processor":
        return dice.choice([each for each in PROCESSORS if each != before])
    if name == "top_k":
        return dice.choice([n for n in range(1, 9) if n != before])
    return dice.choice([each for each in VALUES if each != before])


class Run:
    """Random edits of a few assistants."""

    def __init__(self, sides: Followed, following: "Following", dice: random.Random) -> None:
        self.sides = sides
        self.following = following
        self.dice = dice
        self.models: list[Model] = []

    async def begin(self, first: int) -> None:
        for number in range(first, first + 2):
            cells = new_cells(self.dice)
            self.sides.lamb.add("assistants", row_of(number, cells))
            self.models.append(Model(number, dict(cells), dict(cells), dict(cells)))
        await self.following.once()

    async def step(self) -> None:
        """Do something on one of both sides, or let Heddle follow."""
        model = self.dice.choice(self.models)
        deeds: list[tuple[int, Callable[[Model], Any]]] = [
            (6, self.edit_in_lamb),
            (6, self.edit_in_heddle),
            (2, self.add_tool),
            (1, self.publish_in_lamb),
            (1, self.share_in_lamb),
            (1, self.share_in_heddle),
            (1, self.delete_in_lamb),
            (1, self.delete_in_heddle),
        ]
        [deed] = self.dice.choices([each for _, each in deeds], [weight for weight, _ in deeds])
        await deed(model)
        if self.dice.random() < 0.4:
            await self.follow()

    async def edit_in_lamb(self, model: Model) -> None:
        if not model.lamb["there"]:  # Heddle would read what a deleted row had before
            return
        names = self.dice.sample([*COLUMNS, *MEMBERS, "collections", "top_k"], 2)
        for name in names:
            model.lamb[name] = changed(self.dice, name, model.lamb[name])
        self.sides.edit("assistants", model.id, **row_of(model.id, model.lamb))

    async def edit_in_heddle(self, model: Model) -> None:
        if not self.is_usable(model):
            return
        name = self.dice.choice([*COLUMNS, *MEMBERS, "collections", "top_k"])
        value = changed(self.dice, name, model.heddle[name])
        if name in ("collections", "top_k"):
            if model.heddle["rag_processor"] not in KNOWLEDGE:
                return
            await self.sides.change(model.id, **{f"rag_{name}": str(value)})
        elif name in COLUMNS:
            await self.sides.change(model.id, **{name: value})
        elif name == "rubric_id" and model.heddle["rag_processor"] != "rubric_rag":
            return
        else:
            await self.sides.change(model.id, metadata_json=json.dumps({name: value}))
        model.heddle[name] = value

    async def add_tool(self, model: Model) -> None:
        free = sorted(set(TOOLS) - model.tools)
        if not (free and self.is_usable(model)):
            return
        tool = self.dice.choice(free)
        await self.sides.add_tool(model.id, tool)
        model.tools.add(tool)

    async def publish_in_lamb(self, model: Model) -> None:
        model.lamb["published"] = not model.lamb["published"]
        if model.lamb["published"]:
            consumer = f"course-{model.id}"
            self.sides.lamb.add(
                "assistant_publish", {"assistant_id": model.id, "oauth_consumer_name": consumer}
            )
        else:
            self.sides.execute(
                "DELETE FROM LAMB_assistant_publish WHERE assistant_id = ?", model.id
            )

    async def share_in_lamb(self, model: Model) -> None:
        if model.lamb["users"]:
            self.sides.execute("DELETE FROM LAMB_assistant_shares WHERE assistant_id = ?", model.id)
            model.lamb["users"] = frozenset()
        else:
            share = {"assistant_id": model.id, "shared_with_user_id": 2}
            self.sides.lamb.add("assistant_shares", share)
            model.lamb["users"] = frozenset({"bo@example.org"})

    async def share_in_heddle(self, model: Model) -> None:
        if not self.is_usable(model):
            return
        users = model.heddle["users"] ^ {"heddles@example.org"}
        stub = sharing_pb2_grpc.SharingServiceStub(self.sides.admin.connection)
        sharing = sharing_pb2.Sharing(users_who_may_use=users)
        request = sharing_pb2.UpdateSharingRequest(id=str(model.id), sharing=sharing)
        await self.sides.admin.ask(stub.UpdateSharing, request)
        model.heddle["users"] = users

    async def delete_in_lamb(self, model: Model) -> None:
        """Delete an assistant as LAMB does, or its row, or bring it back."""
        row = row_of(model.id, model.lamb)
        if not model.lamb["there"]:
            self.sides.execute("DELETE FROM LAMB_assistants WHERE id = ?", model.id)
            self.sides.lamb.add("assistants", row)
        elif self.dice.random() < 0.5:
            self.sides.execute("DELETE FROM LAMB_assistants WHERE id = ?", model.id)
        else:
            deleted = {"owner": DELETED_OWNER, "name": f"1_n{model.id}_deleted_1700000000"}
            self.sides.edit("assistants", model.id, **deleted)
        model.lamb["there"] = not model.lamb["there"]

    async def delete_in_heddle(self, model: Model) -> None:
        if not self.is_usable(model):
            return
        request = assistant_pb2.DeleteAssistantRequest(id=str(model.id))
        await self.sides.admin.ask(self.sides.admin.assistants.DeleteAssistant, request)
        model.deleted = True

    async def follow(self) -> None:
        before = {model.id: dict(model.heddle) for model in self.models}
        await self.following.once()
        for model in self.models:
            lost = self.expect(model)
            await self.check(model, before[model.id], lost)

    def is_usable(self, model: Model) -> bool:
        return bool(model.heddle["there"]) and not model.deleted

    def expect(self, model: Model) -> set[str]:
        """Apply to the model what following should; return the fields that LAMB overwrites."""
        lost = set()
        edits = [name for name in model.lamb if model.lamb[name] != model.applied[name]]
        if model.deleted and edits and model.lamb["there"]:
            model.deleted = False
            if model.applied["there"]:  # else LAMB had deleted it, too
                lost.add("deletion")
        for name in edits:
            mine, theirs = model.heddle[name], model.lamb[name]
            if name == "users":
                model.heddle[name] = (mine - model.applied[name]) | theirs
            else:
                if mine not in (model.applied[name], theirs):
                    lost.add(name)
                model.heddle[name] = theirs
        model.applied = dict(model.lamb)
        return lost

    async def check(self, model: Model, before: Cells, lost: set[str]) -> None:
        """Compare Heddle with the model."""
        stored = (await self.sides.stored())[model.id]
        is_there = stored["deleted_at"] is None and stored["owner"] != DELETED_OWNER
        assert is_there == self.is_usable(model), model
        if not is_there:
            return
        assert stored["published"] == model.heddle["published"], model
        users = frozenset(each.removeprefix("use:") for each in stored["sharing"].split())
        assert users == model.heddle["users"], model
        request = record_pb2.GetRecordRequest(id=str(model.id))
        admin = self.sides.admin
        record = (await admin.ask(admin.records.GetRecord, request)).record
        metadata = json.loads(record.metadata_json)
        for name in COLUMNS:
            assert getattr(record, name) == model.heddle[name], (name, model)
        for name in ("llm", "own", "rag_processor"):
            assert metadata[name] == model.heddle[name], (name, model)
        if metadata["rag_processor"] in KNOWLEDGE:
            self.check_search(model, record, before)
        assert model.tools <= {tool["type"] for tool in metadata["tools"]}, model
        if lost:
            await self.check_notes(model, lost)

    def check_search(self, model: Model, record: record_pb2.Record, before: Cells) -> None:
        # A tool that LAMB chose anew has all of LAMB's values.
        for name, shown in (("collections", record.rag_collections), ("top_k", record.rag_top_k)):
            allowed = {str(model.heddle[name])}
            if before["rag_processor"] != model.heddle["rag_processor"]:
                allowed.add(str(model.lamb[name]))
            assert shown in allowed, (name, model)
            value = int(shown) if name == "top_k" else shown
            model.heddle[name] = value

    async def check_notes(self, model: Model, lost: set[str]) -> None:
        versions = await self.sides.versions(model.id)
        notes = [each.note for each in versions if each.note]
        assert notes, (lost, model)
        for name in lost - {"rubric_id"}:
            if name in ("collections", "top_k") and "rag_" + name in notes[0]:
                continue
            assert NAMES.get(name, name) in notes[0], (name, notes, model)
        numbers = {each.number for each in versions}
        assert any(f"version {number} " in notes[0] for number in numbers)


class Following:
    """Follows when a test says so."""

    def __init__(self, sides: Followed, path: Path, applying: Applying) -> None:
        self.sides = sides
        self.path = path
        self.applying = applying
        self.known: dict[Source, Known] = {}

    async def once(self) -> None:
        """Compare and apply. Some of the time, a process that has started anew does."""
        if not self.known or random.random() < 0.1:  # noqa: S311 - a test's dice
            self.known = {each: await self.applying.known(each) for each in SOURCES}
        comparison = await compare(self.path, None, self.known)
        assert comparison.is_complete
        for batch in comparison.batches:
            await self.applying.apply(batch, self.known[batch.source])


Fresh = Callable[[Path], AbstractContextManager[str]]


@pytest.fixture
def fresh(dialect: str, request: pytest.FixtureRequest) -> Fresh:
    """Return what yields the URL of a database with its tables."""
    if dialect == "postgresql":
        server: Postgres = request.getfixturevalue("postgres_server")
        template: str = request.getfixturevalue("postgres_template")
        return lambda _: server.database(template)
    content = request.getfixturevalue("sqlite_template").read_bytes()

    @contextmanager
    def copied(path: Path) -> Iterator[str]:
        path.write_bytes(content)
        yield f"sqlite:///{path}"

    return copied


@asynccontextmanager
async def sides_in(url: str, path: Path) -> AsyncIterator[tuple[Followed, Following]]:
    """Yield both sides, and what follows."""
    lamb = small_lamb(path)
    with lamb.open() as connection:
        connection.execute("SELECT 1 FROM sqlite_master").fetchall()
        async with open_database(url) as database, serving(url) as service:
            caller = service.as_(SERVICE)
            stub = following_pb2_grpc.FollowingServiceStub(caller.connection)
            await caller.ask(
                stub.ClaimFollowing, following_pb2.ClaimFollowingRequest(claimant="test")
            )
            credentials = ServiceCredentials("migration")
            batches = RowBatches(rows_pb2_grpc.RowBatchServiceStub(caller.connection), credentials)
            sides = Followed(lamb, database, service.as_(ADMIN))
            applying = Applying(stub, credentials, batches, "test")
            yield sides, Following(sides, lamb.path, applying)


async def runs(fresh: Fresh, folder: Path, count: int) -> None:
    seed = random.randrange(10**9)  # noqa: S311 - a test's dice
    for start in range(0, count, RUNS_IN_A_DATABASE):
        with fresh(folder / f"heddle-{start}.db") as url:
            async with sides_in(url, folder / f"lamb-{start}.db") as (sides, following):
                for number in range(start, min(start + RUNS_IN_A_DATABASE, count)):
                    await one_run(sides, following, number, seed + number)


async def one_run(sides: Followed, following: "Following", number: int, seed: int) -> None:
    run = Run(sides, following, random.Random(seed))  # noqa: S311 - a test's dice
    try:
        await run.begin(10 + 2 * number)
        for _ in range(STEPS):
            await run.step()
        await run.follow()
    except BaseException as error:
        error.add_note(f"run {number} with seed {seed}")
        raise


async def test_no_edit_is_lost_without_a_note(fresh: Fresh, tmp_path: Path) -> None:
    await runs(fresh, tmp_path, 8)


@pytest.mark.exhaustive
@pytest.mark.timeout(3_600)
async def test_in_many_runs_no_edit_is_lost_without_a_note(fresh: Fresh, tmp_path: Path) -> None:
    await runs(fresh, tmp_path, long_repetitions(RUNS))
