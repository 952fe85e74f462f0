"""The workers that run queries, seen from the service."""

import asyncio
from collections.abc import Sequence

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_knowledge.document_queries.query_inputs import Describe, Fact, Select
from heddle_knowledge.errors import RefusedQueryError
from heddle_knowledge.workers.worker import WorkerProcess

_WORKER = "heddle_knowledge.document_queries.worker"
_WORKERS = 2
"""So that one who asks what takes long does not hold up everybody."""
_SECONDS = 10.0
"""For reading, filling and asking together; the worker is killed then."""
_QUERY_SECONDS = 2.0


class QueryWorkers:
    """Asks SQL about documents, in processes that start with the first question."""

    def __init__(self, *, seconds: float = _SECONDS, query_seconds: float = _QUERY_SECONDS) -> None:
        """Prepare, without starting anything.

        Args:
            seconds: The time limit of a question, after which its process is ended.
            query_seconds: The time limit of its query.
        """
        self._query_seconds = query_seconds
        self._workers = [
            WorkerProcess(_WORKER, seconds=seconds, refusal=RefusedQueryError)
            for _ in range(_WORKERS)
        ]
        self._free: asyncio.LifoQueue[WorkerProcess] = asyncio.LifoQueue()
        for worker in self._workers:
            self._free.put_nowait(worker)

    async def describe(self, facts: Sequence[Fact]) -> pb.DescribeDocumentsResponse:
        """Return the tables that documents make.

        Raises:
            RefusedQueryError: There are too many.
        """
        reply = await self._call(Describe(list(facts)))
        return pb.DescribeDocumentsResponse.FromString(reply)

    async def select(self, facts: Sequence[Fact], sql: str, most: int) -> pb.QueryDocumentsResponse:
        """Return the answer to a query.

        Args:
            facts: All that it can see.
            sql: One SELECT statement of SQLite's dialect.
            most: Rows at most.

        Raises:
            RefusedQueryError: It is wrong, not allowed, or takes too long or too much.
        """
        if sql != sql.encode(errors="replace").decode():
            raise RefusedQueryError("The query is not valid Unicode. Encode it properly.")
        reply = await self._call(Select(list(facts), sql, most, self._query_seconds))
        return pb.QueryDocumentsResponse.FromString(reply)

    async def aclose(self) -> None:
        """End the processes."""
        await asyncio.gather(*(worker.aclose() for worker in self._workers))

    async def _call(self, request: Describe | Select) -> bytes:
        failed = RefusedQueryError(
            "The query took too long or too much and was ended. Ask for less."
        )
        worker = await self._free.get()
        try:
            return await worker.call(request, bytes, failed=failed)
        finally:
            self._free.put_nowait(worker)
