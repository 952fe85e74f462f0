"""The requests to the worker of document queries, and the data that they need."""

import msgspec
from heddle.knowledge.v1 import knowledge_pb2 as pb

Value = str | int | float | None


class Fact(msgspec.Struct, frozen=True, array_like=True):
    """The metadata of a document; the fields are the columns of the table `documents`."""

    document_id: str
    collection: str
    document: str
    title: str
    uri: str
    media_type: str
    size: int
    passages: int
    pages: int | None
    document_time: str
    """In UTC, as `2026-01-31 12:00:00`, so that SQLite's functions read it."""
    ingested_at: str
    metadata: dict[str, str]


class Describe(msgspec.Struct, frozen=True, tag=True):
    """Asks which tables documents make; the reply is an encoded `DescribeDocumentsResponse`."""

    facts: list[Fact]


class Select(msgspec.Struct, frozen=True, tag=True):
    """Asks for the rows of a query; the reply is an encoded `QueryDocumentsResponse`."""

    facts: list[Fact]
    sql: str
    most: int
    """Rows at most."""
    seconds: float
    """The time limit of the query."""


def cell_of(value: Value) -> pb.Cell:
    """Return a value as callers get it."""
    match value:
        case None:
            return pb.Cell()
        case str():
            return pb.Cell(text=value)
        case int():
            return pb.Cell(integer=value)
        case float():
            return pb.Cell(real=value)
