"""The process that runs queries: `python -m heddle_knowledge.document_queries.worker`."""

import logging

import apsw
from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.document_queries.database import opened, select
from heddle_knowledge.document_queries.guard import guarded
from heddle_knowledge.document_queries.query_inputs import Describe, Select
from heddle_knowledge.document_queries.schema import tables_of
from heddle_knowledge.errors import RefusedQueryError
from heddle_knowledge.workers.serving import serve

_MEMORY = 1024**3
_HEAP = 256 * 1024**2
"""The part of it that SQLite may use."""


def main() -> None:
    """Answer what the service asks, until it goes."""
    apsw.hard_heap_limit(_HEAP)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it repeats what it cannot read
    serve(_answer, Describe | Select, refusal=RefusedQueryError, memory_bytes=_MEMORY)


def _answer(request: Describe | Select) -> bytes:
    try:
        if isinstance(request, Select):
            return _selected(request).SerializeToString()
        tables = tables_of(request.facts)
        return pb.DescribeDocumentsResponse(
            document_count=len(request.facts), tables=tables
        ).SerializeToString()
    except (MemoryError, apsw.NoMemError) as error:
        raise RefusedQueryError(
            "There are too many documents to ask about. Name fewer collections."
        ) from error


def _selected(request: Select) -> pb.QueryDocumentsResponse:
    tables = tables_of(request.facts)
    columns = {
        table.name: frozenset(column.name.lower() for column in table.columns) for table in tables
    }
    # One more than asked for tells whether there are more.
    query = guarded(request.sql, columns, request.most + 1)
    connection = opened(request.facts, tables)
    try:
        return select(connection, query, request.most, request.seconds)
    finally:
        connection.close()


if __name__ == "__main__":
    main()
