"""Whatever metadata is: migrated and taken back, it is what it was, to the byte."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import pytest
from assistants.serving import ADMIN, Caller, Service, serving
from assistants.stored import everything, keep
from heddle_assistants.database.schema import assistant_versions, assistants, originals
from heddle_conversion.json_text import same
from heddle_runtime.storage.database.engine import Database, open_database
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from runtime.examples import examples
from sqlalchemy import delete

KEYS = st.sampled_from(
    [
        "rag_processor",
        "tools",
        "rubric_id",
        "file_path",
        "llm",
        "title",
        "capabilities",
        "_legacy",
        "_format_version",
        "quota",
        "é",
        "\0",
        "\ud800",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["simple_rag", "No RAG", "rubric_rag", "1/notes.md", "weather", "\0", "\udfff"]
    )
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            KEYS | st.sampled_from(["type", "plugin", "slot", "config"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)
DOCUMENTS = st.dictionaries(KEYS | st.text(max_size=5), VALUES, max_size=6)
WRITTEN = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}])
ROUNDS = examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])


@dataclass
class Running:
    """A service that lasts for all examples, and its loop."""

    loop: asyncio.Runner
    database: Database
    service: Service


@pytest.fixture
def running(database_url: str) -> Iterator[Running]:
    """A service over an empty database."""
    with asyncio.Runner() as loop:
        exits = AsyncExitStack()
        database = loop.run(exits.enter_async_context(open_database(database_url)))
        service = loop.run(exits.enter_async_context(serving(database_url)))
        yield Running(loop, database, service)
        loop.run(exits.aclose())


@given(st.lists(st.tuples(DOCUMENTS, WRITTEN), min_size=1, max_size=8))
@ROUNDS
def test_migrated_and_taken_back_a_document_is_what_it_was(
    running: Running, documents: list[tuple[dict[str, Any], dict[str, Any]]]
) -> None:
    texts = [json.dumps(document, **how) for document, how in documents]
    running.loop.run(_there_and_back(running.database, running.service.as_(ADMIN), texts))


async def _there_and_back(database: Database, admin: Caller, texts: list[str]) -> None:
    async with database.writing() as connection:
        for table in (originals, assistant_versions, assistants):
            await connection.execute(delete(table))
    for number, text in enumerate(texts):
        await keep(database, name=f"a{number}", metadata=text)
    before = await everything(database)
    *_, once = await admin.migrate()
    migrated = await everything(database)
    *_, twice = await admin.migrate()
    assert await everything(database) == migrated
    assert twice.progress.changed == 0
    assert twice.progress.unchanged == once.progress.changed + once.progress.unchanged
    for row in migrated[: len(texts)]:
        _keeps_every_key(texts[int(row.name[1:])], row.metadata)
    *_, back = await admin.roll_back()
    assert back.progress.changed == once.progress.changed
    after = await everything(database)
    assert len(after) == len(before)
    for was, now in zip(before, after, strict=True):
        assert was._asdict() | {"revision": 0, "title": ""} == now._asdict() | {
            "revision": 0,
            "title": "",
        }


def _keeps_every_key(old: str, new: str) -> None:
    before, after = json.loads(old), json.loads(new)
    legacy = {
        "rag_processor",
        "rubric_id",
        "rubric_format",
        "file_path",
        "tools",
        "_format_version",
        "_legacy",
    }
    for key in before.keys() - legacy:
        assert same(after[key], before[key])
