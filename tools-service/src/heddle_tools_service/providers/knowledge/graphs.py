"""Reads the graphs of collections."""

from collections.abc import Sequence
from dataclasses import dataclass

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.graph import GraphResults
from heddle_tools_service.providers.knowledge.client import KnowledgeClient
from heddle_tools_service.providers.knowledge.documents import unread


@dataclass(frozen=True, slots=True)
class GraphSearch:
    """The graphs that an assistant may read; see `Graph`."""

    client: KnowledgeClient

    async def themes(
        self, collections: Sequence[str], *, max_results: int, query: str = ""
    ) -> GraphResults:
        """Return the themes of collections."""
        request = pb.ListGraphThemesRequest(
            collections=collections, max_themes=max_results, query=query
        )
        response = await self.client.ask(self.client.service.ListGraphThemes, request)
        return GraphResults(
            response.summary,
            themes=response.themes,
            failures=unread(response.errors),
            warnings=_warnings(response.summary),
        )

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, max_results: int
    ) -> GraphResults:
        """Return short paths between two names."""
        request = pb.FindGraphPathsRequest(
            collections=collections, start=start, end=end, max_paths=max_results
        )
        response = await self.client.ask(self.client.service.FindGraphPaths, request)
        return GraphResults(
            response.summary,
            paths=response.paths,
            unknown=response.unknown,
            failures=unread(response.errors),
            warnings=_warnings(response.summary),
        )


def _warnings(summary: pb.GraphSummary) -> tuple[str, ...]:
    warnings = []
    if foreign := summary.foreign_document_count:
        warnings.append(f"Not in the graph because not in English: {foreign} of the documents.")
    if missing := summary.missing_document_count:
        warnings.append(
            f"Not in the graph yet: {missing} of the documents. Ingest them again to draw them."
        )
    return tuple(warnings)
