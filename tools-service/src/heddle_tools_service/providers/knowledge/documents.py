"""Queries the metadata of documents."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from google.protobuf.message import Message
from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.document_queries import Rows, Table, value_of
from heddle_tools_service.capabilities.passages import FailedSearch
from heddle_tools_service.providers.knowledge.client import INVALID, KnowledgeClient, failed_search
from heddle_tools_service.sdk import ToolError

ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True, slots=True)
class DocumentSearch:
    """The documents that an assistant may query; see `DocumentQueries`."""

    client: KnowledgeClient

    async def open(self, collections: Sequence[str]) -> "DescribedDocuments":
        """Open a snapshot of the metadata of the documents of collections."""
        request = pb.DescribeDocumentsRequest(collections=collections)
        response = await _ask(self.client, self.client.service.DescribeDocuments, request)
        return DescribedDocuments(
            self.client,
            tuple(collections),
            response.document_count,
            tuple(response.tables),
            unread(response.errors),
        )


@dataclass(frozen=True, slots=True)
class DescribedDocuments:
    """Documents and the tables that describe them."""

    client: KnowledgeClient
    collections: tuple[str, ...]
    documents: int
    tables: tuple[Table, ...]
    failures: tuple[FailedSearch, ...]

    async def select(self, sql: str, *, max_rows: int) -> Rows:
        """Run a query and return its rows; see `DocumentTables`."""
        request = pb.QueryDocumentsRequest(collections=self.collections, sql=sql, max_rows=max_rows)
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
