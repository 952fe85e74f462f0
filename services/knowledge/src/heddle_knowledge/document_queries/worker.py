"""The process that runs queries: `python -m heddle_knowledge.document_queries.worker`."""

import logging
import resource

import apsw
import msgspec

from heddle_knowledge.document_queries.database import opened, select
from heddle_knowledge.document_queries.errors import RefusedQueryError
from heddle_knowledge.document_queries.guard import guarded
from heddle_knowledge.document_queries.records import Describe, Reply, Rows, Select
from heddle_knowledge.document_queries.schema import tables_of
from heddle_knowledge.workers.frames import serve

_MEMORY = 1024**3
_HEAP = 256 * 1024**2
"""Of it, what SQLite may take."""


def main() -> None:
    """Answer what the service asks, until it goes."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or hard > _MEMORY:
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, hard))
    apsw.hard_heap_limit(_HEAP)
    logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it repeats what it cannot read
    serve(_handle)


def _handle(payload: bytes) -> bytes:
    request: Describe | Select = msgspec.msgpack.decode(payload, type=Describe | Select)
    try:
        if isinstance(request, Select):
            reply = Reply(rows=_selected(request))
        else:
            reply = Reply(tables=tables_of(request.facts))
    except RefusedQueryError as error:
        reply = Reply(refused=str(error))
    except (MemoryError, apsw.NoMemError):
        reply = Reply(refused="There are too many documents to ask about. Name fewer collections.")
    return msgspec.msgpack.encode(reply)


def _selected(request: Select) -> Rows:
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
