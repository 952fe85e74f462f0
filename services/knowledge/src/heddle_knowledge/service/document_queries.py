"""Calls that query what is known about documents."""

from collections.abc import Sequence

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

from heddle_knowledge.document_queries.collecting import MAX_DOCUMENTS, collect
from heddle_knowledge.document_queries.query_inputs import Fact
from heddle_knowledge.errors import KnowledgeError
from heddle_knowledge.service.calls import (
    Calls,
    check_collections,
    check_range,
    collection_error,
    refuse,
)

_DEFAULT_ROWS = 50
_MAX_ROWS = 1_000


class DocumentQueryCalls(Calls):
    """The part of the contract about queries over documents."""

    async def DescribeDocuments(
        self, request: pb.DescribeDocumentsRequest, context: Context
    ) -> pb.DescribeDocumentsResponse:
        """Describe the tables that queries can read."""
        facts, errors = await self._collect(request.collections)
        response = await self._backends.queries.describe(facts)
        response.errors.extend(errors)
        return response

    async def QueryDocuments(
        self, request: pb.QueryDocumentsRequest, context: Context
    ) -> pb.QueryDocumentsResponse:
        """Run one SELECT statement."""
        _check(request)
        facts, errors = await self._collect(request.collections)
        max_rows = request.max_rows or _DEFAULT_ROWS
        response = await self._backends.queries.select(facts, request.sql, max_rows)
        response.errors.extend(errors)
        return response

    async def _collect(
        self, references: Sequence[str]
    ) -> tuple[list[Fact], list[pb.CollectionError]]:
        check_collections(references)
        reader = self._reader()
        facts: list[Fact] = []
        errors: list[pb.CollectionError] = []
        for reference in references:
            try:
                store, collection = await self._meant(reader.person, reference)
                facts += await collect(store, collection, MAX_DOCUMENTS - len(facts))
            except KnowledgeError as error:
                errors.append(collection_error(reference, error))
        return facts, errors


def _check(request: pb.QueryDocumentsRequest) -> None:
    refuse(check_range(request, "max_rows", 0, _MAX_ROWS), "The query cannot be run.")
