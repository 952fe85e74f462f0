"""Answers from the graph of a collection: its themes, or how two names are connected."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import Field

from heddle_tools_service.capabilities.graph import (
    Evidence,
    Graph,
    GraphLink,
    GraphResults,
)
from heddle_tools_service.capabilities.passages import Passage, stored_attributes
from heddle_tools_service.sdk import (
    Example,
    Source,
    ToolArguments,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.retrieval import (
    NamedCollections,
    any_chosen,
    documents_exist,
    refuse_failure,
    required,
)
from heddle_tools_service.tools.retrieved import passage_source

_NAMES = 8
_MAX_PATHS = 3
_CAUTION = (
    "Names are linked because they stand in one passage; read the passages for what links them."
)


class GraphConfig(ToolConfig):
    """The collections whose graphs are asked, and the size of the answer."""

    collections: NamedCollections = Field(
        description="Collections to ask; those that were made with a graph"
    )
    themes: int = Field(
        title="Themes", default=5, ge=1, le=20, description="Themes to tell in the mode global"
    )


class GraphQuestion(ToolArguments):
    """A question to the graphs."""

    mode: Literal["global", "relationship"] = Field(
        default="global",
        description="global: what the documents are about as a whole. relationship: how two names "
        "hang together",
    )
    entity_a: str = Field(
        default="", max_length=200, description="For relationship: one name", examples=["Ana"]
    )
    entity_b: str = Field(
        default="", max_length=200, description="For relationship: the other name"
    )
    query: str = Field(
        default="",
        max_length=1_000,
        description="For global: themes with names of these words come first",
    )


@tool(
    "graph_search",
    title="Graph search",
    label="Graph",
    category="rag",
    modes=("augment", "function", "agent"),
    examples=[
        Example("What are these documents about?", {"mode": "global"}),
        Example("What are the main themes in weaving?", {"mode": "global", "query": "weaving"}),
        Example(
            "How does Ana know Jordi?",
            {"mode": "relationship", "entity_a": "Ana", "entity_b": "Jordi"},
        ),
    ],
    enabled=any_chosen,
    available=documents_exist,
)
async def graph_search(call: ToolCall[GraphConfig, GraphQuestion], graph: Graph) -> ToolResult:
    """Finds the themes of documents, or how two names in them hang together."""
    collections = required(call.config)
    arguments = call.arguments
    if arguments.mode == "global":
        call.status("looking for themes")
        results = await graph.themes(
            collections, max_results=call.config.themes, query=arguments.query
        )
        refuse_failure(results.failures, collections)
        return _themes(results)
    start, end = arguments.entity_a.strip(), arguments.entity_b.strip()
    if not start or not end:
        raise ToolError("relationship mode requires both entity_a and entity_b.")
    call.status(f"looking for what links {start} and {end}")
    results = await graph.paths(collections, start, end, max_results=_MAX_PATHS)
    refuse_failure(results.failures, collections)
    return _paths(start, end, results)


def _themes(results: GraphResults) -> ToolResult:
    if not results.themes:
        return _result("The graph has no themes: no two names stand in one passage.", results)
    lines = [_caption(results)]
    for number, theme in enumerate(results.themes, 1):
        lines += ["", f"{number}. {', '.join(theme.entities[:_NAMES])}"]
        lines.append(f"   {theme.entity_count} names in {_passages(theme.passage_count)}")
        lines += [f"   within it: {', '.join(group.entities)}" for group in theme.subgroups]
        lines += [f"   - {_cited(each)}" for each in theme.evidence[:1]]
    sources = _sources(each for theme in results.themes for each in theme.evidence)
    return _result("\n".join(lines), results, sources)


def _paths(start: str, end: str, results: GraphResults) -> ToolResult:
    if results.unknown:
        lines = [_unknown(each.entity, each.similar) for each in results.unknown]
        return _result("\n".join(lines), results)
    if not results.paths:
        return _result(f"Nothing links {start} and {end} in the graph.", results)
    lines = [_caption(results), _CAUTION]
    for number, path in enumerate(results.paths, 1):
        names = [path.links[0].start, *(link.end for link in path.links)]
        lines += ["", f"{number}. {' - '.join(names)}"]
        lines += [f"   {_linked(link)}" for link in path.links]
    sources = _sources(
        each for path in results.paths for link in path.links for each in link.evidence
    )
    return _result("\n".join(lines), results, sources)


def _linked(link: GraphLink) -> str:
    text = f"{link.start} and {link.end}, in {_passages(link.passage_count)}"
    return "; ".join([text, *map(_cited, link.evidence[:1])])


def _unknown(name: str, similar: Sequence[str]) -> str:
    others = f" Similar names in it: {', '.join(similar)}." if similar else ""
    return f"The graph has no name {name!r}.{others}"


def _caption(results: GraphResults) -> str:
    summary = results.summary
    size = f"{summary.entity_count} names and {summary.link_count} links"
    return f"A graph of {size}, of {summary.document_count} documents"


def _passages(count: int) -> str:
    return f"{count} {'passage' if count == 1 else 'passages'}"


def _cited(evidence: Evidence) -> str:
    passage = evidence.passage
    return f"[{passage.title}] {' '.join(passage.text.split())[:300]}"


def _sources(evidence: Iterable[Evidence]) -> list[Source]:
    """Return each passage once, without a score: the graph does not rank passages."""
    sources: dict[tuple[str, str], Source] = {}
    for each in evidence:
        stored = each.passage
        attributes = stored_attributes(each.collection, stored)
        attributes["chunk_index"] = str(stored.ordinal)
        passage = Passage(stored.text, stored.title, stored.uri, attributes=attributes)
        source = replace(passage_source(passage), score=None)
        sources.setdefault((stored.document, stored.text), source)
    return list(sources.values())


def _result(text: str, results: GraphResults, sources: Sequence[Source] = ()) -> ToolResult:
    return ToolResult(
        text,
        sources,
        {
            "names": results.summary.entity_count,
            "links": results.summary.link_count,
            "documents": results.summary.document_count,
            "themes": len(results.themes),
            "paths": len(results.paths),
        },
        [*(failure.message for failure in results.failures), *results.warnings],
        count=len(results.themes) + len(results.paths),
    )
