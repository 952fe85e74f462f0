"""Conditions on documents in a small language of their own."""

import pytest
from heddle_knowledge.document_queries.database import opened, select
from heddle_knowledge.document_queries.guard import guarded
from heddle_knowledge.document_queries.schema import tables_of
from heddle_tools_service.tools.document_filters import NotAFilterError, query_of
from knowledge.document_queries.documents import facts, rows_of

FACTS = facts()
TABLES = tables_of(FACTS)
COLUMNS = {column.name: column.type for column in TABLES[0].columns}
ALLOWED = {
    table.name: frozenset(column.name.lower() for column in table.columns) for table in TABLES
}


def asked(text: str) -> list[tuple[object, ...]]:
    sql = guarded(query_of(text, COLUMNS), ALLOWED, 100)
    return rows_of(select(opened(FACTS, TABLES), sql, 100, 60.0))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("media_type = application/pdf", 14),
        ("list where media_type = 'application/pdf'", 14),
        ('Author = "Bo"', 20),
        ("year >= 2023 and size<40000", 3),
        ("title ~ 'Manual 1'", 11),
        ("title ~ '%'", 0),
        ("after 2023", 4),
        ("after 2021-01-01 and before 2021-03-01", 2),
        ("author != Ana limit 3", 3),
        ("'x y' = z and author = Ana", 20),
        ("nothing = here", 0),
        ('title = "it\'s"', 0),
    ],
)
def test_documents_that_match_are_listed(text: str, count: int) -> None:
    assert len(asked(text)) == count


def test_documents_are_counted_grouped_and_ordered() -> None:
    assert asked("count") == [(40,)]
    assert asked("count author = Ana and year = 2020") == [(6,)]
    assert asked("count year = 2020 by media_type")[0][1] == 4
    assert asked("largest limit 1")[0][0] == "Manual 39"
    assert asked("oldest limit 1?")[0][0] == "Manual 0"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "empty"),
        ("how many are there", "'many' is no operator"),
        ("size >", "a value is missing"),
        ("after yesterday", "'yesterday' is no date"),
        ("by colour", "no column 'colour'"),
        ("limit all", "no whole number"),
        ("title = 'open", "unreadable from"),
    ],
)
def test_what_is_no_filter_says_where_it_stops_being_one(text: str, message: str) -> None:
    with pytest.raises(NotAFilterError, match=message):
        query_of(text, COLUMNS)


@pytest.mark.parametrize(
    "value",
    ["x' OR '1'='1", "'; DROP TABLE documents; --", "x') UNION SELECT sql FROM sqlite_master --"],
)
def test_values_stay_values(value: str) -> None:
    assert asked(f'title = "{value}"') == []
    assert asked(f'nothing ~ "{value}"') == []
