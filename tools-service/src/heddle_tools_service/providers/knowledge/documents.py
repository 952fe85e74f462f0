"""Queries the metadata of documents."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message
from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.document_queries import DocumentTables, Rows, value_of
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.providers.knowledge.client import INVALID, KnowledgeClient, failed_search
from heddle_tools_service.sdk import ToolError

ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The documents that an assistant may query; see `DocumentQueries`."""

    client: KnowledgeClient

    async def describe(self, collections: Sequence[str]) -> DocumentTables:
        """Return the tables that describe the documents of collections."""
        request = pb.DescribeDocumentsRequest(collections=collections)
        response = await _ask(self.client, self.client.service.DescribeDocuments, request)
        tables = tuple(response.tables)
        return DocumentTables(response.document_count, tables, unread(response.errors))

    async def select(self, collections: Sequence[str], sql: str, *, max_rows: int) -> Rows:
        """Run a query and return its rows."""
        request = pb.QueryDocumentsRequest(collections=collections, sql=sql, max_rows=max_rows)
        response = await _ask(self.client, self.client.service.QueryDocuments, request)
        return Rows(
            response.sql,
            tuple(response.columns),
            tuple(tuple(map(value_of, row.cells)) for row in response.rows),
            response.truncated,
        )


async def _ask(
    client: KnowledgeClient, method: Callable[..., Awaitable[ResponseT]], request: Message
) -> ResponseT:
    """Return a response; a wrong query is a failure of the kind `refused_query`."""
    try:
        return await client.ask(method, request)
    except ToolError as error:
        if error.kind == INVALID:
            raise ToolError(str(error), kind="refused_query") from error
        raise


def unread(
    errors: Iterable[pb.CollectionError], failure: str = "Collection {!r} was not asked"
) -> tuple[FailedSearch, ...]:
    """Return the collections that a call did not read, as tools report them."""
    return tuple(failed_search(each.collection, each.error, failure) for each in errors)
