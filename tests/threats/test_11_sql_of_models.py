"""Threat 11: a model writes SQL that changes data, reads other data, or does not end."""

import time
from collections.abc import AsyncGenerator
from pathlib import Path

import apsw
import msgspec
import pytest
from heddle_knowledge.document_queries.database import opened, select
from heddle_knowledge.document_queries.guard import guarded
from heddle_knowledge.document_queries.query_inputs import Fact
from heddle_knowledge.document_queries.query_workers import QueryWorkers
from heddle_knowledge.document_queries.schema import tables_of
from heddle_knowledge.errors import RefusedQueryError
from knowledge.document_queries.attacks import ATTACKS, QUESTIONS
from knowledge.document_queries.documents import facts, rows_of
from runtime.examples import sampled

FACTS = facts()
TABLES = tables_of(FACTS)
COLUMNS = {
    table.name: frozenset(column.name.lower() for column in table.columns) for table in TABLES
}
# What the engine alone would run, and why no user is hurt: it holds nothing but the caller's rows.
HARMLESS_TO_THE_ENGINE = {
    "explain",
    "values",
    "main schema",
    "schema of a column",
    "rowid",
    "nothing",
    "empty",
    "many tables",
    "deep parentheses",
    "deep subqueries",
    "wide in list",
    "long",
    "reindex",
    "limit of a subquery",
    "negative limit",
    "limit of an expression",
    "limit of a text",
}


def with_metadata(metadata: dict[str, str]) -> Fact:
    return msgspec.structs.replace(FACTS[0], metadata=metadata)


@pytest.fixture
async def workers() -> AsyncGenerator[QueryWorkers]:
    started = QueryWorkers(seconds=60.0, query_seconds=0.2)
    yield started
    await started.aclose()


async def test_no_attack_gets_an_answer(workers: QueryWorkers) -> None:
    """All in one process, which therefore outlives each of them."""
    for sql in ATTACKS.values():
        with pytest.raises(RefusedQueryError, match=r".+\."):
            pytest.fail(str(await workers.select(FACTS, sql, 100)))

    answer = await workers.select(FACTS, "SELECT COUNT(*) FROM documents", 100)
    assert rows_of(answer) == [(40,)]


@pytest.mark.parametrize("name", sampled(ATTACKS, 30))
def test_the_engine_holds_without_the_guard(name: str) -> None:
    connection = opened(FACTS, TABLES)
    before = _contents(connection)
    try:
        answer = select(connection, ATTACKS[name], 100, 0.2)
        assert name in HARMLESS_TO_THE_ENGINE, answer
        assert len(answer.rows) <= 100
    except RefusedQueryError:
        pass

    assert _contents(connection) == before


@pytest.mark.parametrize("question", QUESTIONS)
async def test_an_honest_query_is_understood_and_answered(question: str) -> None:
    query = guarded(QUESTIONS[question], COLUMNS, 100)
    answer = select(opened(FACTS, TABLES), query, 100, 60.0)

    assert answer.columns
    assert answer.rows
    assert answer.sql == query


def test_a_query_is_answered_as_sqlite_answers_what_was_written() -> None:
    """What is written anew means the same."""
    plain = apsw.Connection(":memory:")
    for table in TABLES:
        names = ", ".join(f'"{column.name}" {column.type}' for column in table.columns)
        plain.execute(f"CREATE TABLE {table.name} ({names})")
    locked = opened(FACTS, TABLES)
    for table in TABLES:
        rows = list(locked.execute(f"SELECT * FROM {table.name}"))  # noqa: S608 - our own names
        places = ", ".join("?" * len(table.columns))
        plain.executemany(f"INSERT INTO {table.name} VALUES ({places})", rows)  # noqa: S608

    for question, sql in QUESTIONS.items():
        if "ILIKE" in sql:  # which SQLite itself does not know
            continue
        expected = list(plain.execute(sql))
        assert list(locked.execute(guarded(sql, COLUMNS, 1_000))) == expected, question


def test_rows_are_limited_whatever_the_query_says() -> None:
    for sql in ("SELECT title FROM documents", "SELECT title FROM documents LIMIT 999999"):
        answer = select(opened(FACTS, TABLES), guarded(sql, COLUMNS, 11), 10, 60.0)
        assert len(answer.rows) == 10
        assert answer.truncated

    answer = select(
        opened(FACTS, TABLES), guarded("SELECT title FROM documents LIMIT 3", COLUMNS, 11), 10, 60.0
    )
    assert len(answer.rows) == 3
    assert not answer.truncated


def test_a_query_without_rows_still_tells_its_columns() -> None:
    sql = "SELECT title AS t FROM documents WHERE size < 0"
    answer = select(opened(FACTS, TABLES), sql, 10, 60.0)
    assert (list(answer.columns), rows_of(answer), answer.truncated) == (["t"], [], False)


def test_long_texts_are_cut_and_marked() -> None:
    long = [with_metadata({"note": "x" * 60_000})]
    answer = select(opened(long, tables_of(long)), "SELECT note FROM documents", 10, 60.0)
    assert rows_of(answer) == [("x" * 1_000,)]
    assert answer.truncated


def test_metadata_named_like_a_column_or_like_code_becomes_no_column() -> None:
    hostile = {'x" TEXT); DROP TABLE documents; --': "1", "Title": "mine", "key": "2", "naïve": "3"}
    odd = [with_metadata(hostile)]
    documents, _ = tables_of(odd)
    assert [column.name for column in documents.columns][-1] == "ingested_at"

    answer = select(
        opened(odd, tables_of(odd)), "SELECT key, value FROM metadata ORDER BY value", 10, 60.0
    )
    assert {key: value for key, value in rows_of(answer)} == hostile  # noqa: C416 - of rows of two


def test_numbers_stay_what_was_written() -> None:
    written = ["7", "007", "1e5", "nan", "2.50", "-3", "2.5", "9" * 19]
    kinds = {}
    for number in written:
        one = [with_metadata({"number": number})]
        documents, _ = tables_of(one)
        kinds[number] = documents.columns[-1].type
    assert kinds == {
        "7": "INTEGER",
        "007": "TEXT",
        "1e5": "TEXT",
        "nan": "TEXT",
        "2.50": "TEXT",
        "-3": "INTEGER",
        "2.5": "REAL",
        "9" * 19: "TEXT",
    }


async def test_a_question_that_hangs_its_process_ends_with_it() -> None:
    impatient = QueryWorkers(seconds=0.01)
    try:
        with pytest.raises(RefusedQueryError, match="was ended"):
            await impatient.select(FACTS, "SELECT 1", 10)
    finally:
        await impatient.aclose()


@pytest.mark.alone
async def test_nothing_runs_over_its_time(workers: QueryWorkers) -> None:
    await workers.select(FACTS, "SELECT 1", 1)
    slowest = {}
    for name, sql in ATTACKS.items():
        started = time.perf_counter()
        with pytest.raises(RefusedQueryError):
            await workers.select(FACTS, sql, 100)
        slowest[name] = time.perf_counter() - started
    assert max(slowest.values()) < 2.0, slowest


def test_comparing_the_longest_text_with_the_worst_pattern_ends() -> None:
    """SQLite does not look at the clock within one comparison."""
    long = [with_metadata({"note": "a" * 60_000})]
    text, pattern = " || ".join(["note"] * 4), "%a" * 28 + "%b"
    started = time.process_time()
    sql = f"SELECT count(*) FROM documents WHERE {text} LIKE '{pattern}'"  # noqa: S608 - as models write
    answer = select(opened(long, tables_of(long)), sql, 1, 60.0)
    assert rows_of(answer) == [(0,)]
    assert time.process_time() - started < 20


def test_no_file_appears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for sql in ("ATTACH 'x.db' AS x", "VACUUM INTO 'y.db'", "SELECT writefile('z', 'z')"):
        with pytest.raises(RefusedQueryError):
            select(opened(FACTS, TABLES), sql, 1, 1.0)
    assert list(tmp_path.iterdir()) == []


def _contents(connection: apsw.Connection) -> list[list[tuple[object, ...]]]:
    return [list(connection.execute(f"SELECT * FROM {name}")) for name in COLUMNS]  # noqa: S608 - our own names
