"""Reads the graphs of collections."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from heddle.knowledge.v1 import knowledge_pb2 as pb

from heddle_tools_service.capabilities.graph import GraphResults, Link, Mentions, Theme
from heddle_tools_service.capabilities.passages import Passage
from heddle_tools_service.providers.knowledge.client import KnowledgeClient
from heddle_tools_service.providers.knowledge.documents import unread
from heddle_tools_service.providers.knowledge.passages import stored_attributes


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
        themes = [
            Theme(
                tuple(theme.entities),
                theme.entity_count,
                tuple(tuple(group.entities) for group in theme.subgroups),
                _mentions(theme.passage_count, theme.evidence),
            )
            for theme in response.themes
        ]
        summary = response.summary
        return GraphResults(
            summary.entity_count,
            summary.link_count,
            summary.document_count,
            themes=tuple(themes),
            failures=unread(response.errors),
            warnings=_warnings(summary),
        )

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, max_results: int
    ) -> GraphResults:
        """Return short paths between two names."""
        request = pb.FindGraphPathsRequest(
            collections=collections, start=start, end=end, max_paths=max_results
        )
        response = await self.client.ask(self.client.service.FindGraphPaths, request)
        summary = response.summary
        return GraphResults(
            summary.entity_count,
            summary.link_count,
            summary.document_count,
            paths=tuple(tuple(map(_link, path.links)) for path in response.paths),
            unknown=tuple((each.entity, tuple(each.similar)) for each in response.unknown),
            failures=unread(response.errors),
            warnings=_warnings(summary),
        )


def _link(link: pb.GraphLink) -> Link:
    return Link(link.start, link.end, _mentions(link.passage_count, link.evidence))


def _mentions(count: int, evidence: Iterable[pb.Evidence]) -> Mentions:
    return Mentions(count, tuple(map(_passage, evidence)))


def _passage(evidence: pb.Evidence) -> Passage:
    passage = evidence.passage
    attributes = stored_attributes(evidence.collection, passage)
    attributes["chunk_index"] = str(passage.ordinal)
    return Passage(passage.text, passage.title, passage.uri, attributes=attributes)


def _warnings(summary: pb.GraphSummary) -> tuple[str, ...]:
    warnings = []
    if foreign := summary.foreign_document_count:
        warnings.append(f"Not in the graph because not in English: {foreign} of the documents.")
    if missing := summary.missing_document_count:
        warnings.append(
            f"Not in the graph yet: {missing} of the documents. Ingest them again to draw them."
        )
    return tuple(warnings)
