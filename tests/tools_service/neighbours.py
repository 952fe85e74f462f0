"""Runs one tool beside knowledge, pages and a model that know what the test wrote down."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from heddle.tool.v1 import tool_pb2 as pb
from heddle_tools_service.registry import Registry
from heddle_tools_service.sdk import (
    NO_OPTIONS,
    Assistant,
    Caller,
    FailedSearch,
    Findings,
    FoundPage,
    FoundPages,
    Interpretation,
    Passage,
    Query,
    SearchOptions,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    TreeData,
)
from heddle_tools_service.yielding import settled
from integration.browser import browser

NEIGHBOURS = (
    *("files", "rubrics", "moodle", "weather", "workspace", "servers", "web"),
    *("catalogue", "graph"),
)
"""What a tool sees only if the test gives it."""


@dataclass(frozen=True)
class Asked:
    """One search that was made."""

    collections: tuple[str, ...]
    query: str
    top_k: int
    options: SearchOptions = NO_OPTIONS


@dataclass
class KnownPassages:
    """Knowledge that finds the same passages for every question, or those of one it knows."""

    passages: Sequence[Passage] = ()
    by_query: dict[str, Sequence[Passage]] = field(default_factory=dict)
    failure: FailedSearch | None = None
    raising: Exception | None = None
    warnings: tuple[str, ...] = ()
    delay: float = 0.0
    asked: list[Asked] = field(default_factory=list)

    async def search(
        self,
        collections: Sequence[str],
        query: str,
        *,
        top_k: int,
        threshold: float = 0.0,
        sections: bool = False,
        options: SearchOptions = NO_OPTIONS,
    ) -> Findings:
        self.asked.append(Asked(tuple(collections), query, top_k, options))
        await asyncio.sleep(self.delay)
        if self.raising:
            raise self.raising
        if self.failure:
            return Findings(failures=(self.failure,))
        found = self.by_query.get(query, self.passages)
        return Findings(tuple(found)[:top_k], warnings=self.warnings)


@dataclass
class KnownPages:
    """Pages that are found for every question."""

    pages: Sequence[FoundPage] = ()
    failure: FailedSearch | None = None
    raising: Exception | None = None
    delay: float = 0.0
    asked: list[Asked] = field(default_factory=list)

    async def search(self, collections: Sequence[str], query: str, *, top_k: int) -> FoundPages:
        self.asked.append(Asked(tuple(collections), query, top_k))
        await asyncio.sleep(self.delay)
        if self.raising:
            raise self.raising
        if self.failure:
            return FoundPages(failures=(self.failure,))
        return FoundPages(tuple(self.pages)[:top_k], model="words-of-pages", visual=False)

    async def find(self, _: Sequence[str], picture_uri: str) -> FoundPage:
        for each in self.pages:
            if each.picture_uri == picture_uri:
                return each
        raise ToolError("There is no such page.")

    async def interpret(self, page: FoundPage, prompt: str) -> Interpretation:
        return Interpretation(f"Seen on {page.page}: {prompt}", "eyes", visual=True)


@dataclass
class ScriptedModel:
    """A small model that gives its answers in order, the last one again and again."""

    answers: Sequence[str | Exception]
    delay: float = 0.0
    prompts: list[str] = field(default_factory=list)
    allowed: list[int] = field(default_factory=list)
    """Tokens that it might write, call by call."""

    async def __call__(
        self, prompt: str, /, *, timeout: float, max_tokens: int
    ) -> str:  # the limit travels with the call
        self.prompts.append(prompt)
        self.allowed.append(max_tokens)
        await asyncio.sleep(self.delay)
        answer = self.answers[min(len(self.prompts), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


@dataclass(frozen=True)
class Outcome:
    """How a tool ended."""

    statuses: list[str]
    result: ToolResult

    @property
    def json(self) -> dict[str, Any]:
        """What a model reads, parsed."""
        found: dict[str, Any] = json.loads(self.result.text)
        return found


async def run_tool(
    tool: Tool,
    config: Mapping[str, Any] | None = None,
    arguments: Mapping[str, Any] | None = None,
    *,
    query: str = "What is a shed?",
    seconds: float = 5,
    **neighbours: Any,
) -> Outcome:
    """Run a tool as a function with `arguments`; without them, as one that fills a slot."""
    installed = Registry.of(tool).get(tool.name)
    parsed, violations = installed.configs.read(dict(config or {}))
    assert not violations, violations
    call = None
    if arguments is not None:
        assert tool.function
        text = json.dumps(arguments)
        call = pb.FunctionCall(name=tool.function.name, arguments_json=text)
    statuses: list[str] = []
    async with browser() as http:
        given: dict[str, Any] = {name: neighbours.get(name) for name in NEIGHBOURS}
        made: ToolCall[Any, Any] = ToolCall(
            **given,
            config=parsed,
            arguments=installed.arguments_of(call),
            query=query,
            assistant=Assistant(),
            identity=Caller(),
            earlier=tuple(neighbours.get("earlier", ())),
            status=lambda message, _=None: statuses.append(message),
            http=http,
            knowledge=neighbours.get("knowledge") or KnownPassages(),
            pages=cast("Any", neighbours.get("pages") or KnownPages()),
            seconds=seconds,
            build_request=dict,
            small_model=neighbours.get("model"),
            mode="augment" if call is None else "agent" if "tree" in neighbours else "function",
            tree=neighbours.get("tree") or TreeData(query),
        )
        if call and isinstance(made.arguments, Query):  # as the service does
            made = replace(made, query=made.arguments.query)
        return Outcome(statuses, await settled(tool.name, tool.run(made), made))


async def failure_of(tool: Tool, *given: Any, **more: Any) -> ToolError:
    """Return how a tool gives up."""
    try:
        outcome = await run_tool(tool, *given, **more)
    except ToolError as error:
        return error
    raise AssertionError(f"the tool does not give up: {outcome}")


def passage(text: str, number: int = 0, **more: Any) -> Passage:
    """Return a passage as the knowledge store tells it."""
    known = {
        "title": "Manual",
        "uri": "http://manual/",
        "score": 0.5,
        "document": "manual.pdf",
        "document_id": "doc_1",
        "chunk_id": f"doc_1:{number}",
        "chunk_index": number,
        "page": number + 1,
        "relevance": 0.75,
    }
    return Passage(text, **{**known, **more})


def page(number: int, text: str = "", **more: Any) -> FoundPage:
    """Return a page of the same document."""
    known = {
        "collection": "AssetManual",
        "document": "manual.pdf",
        "document_id": "doc_1",
        "title": "Manual",
        "uri": "http://manual/",
        "score": 0.9,
        "picture_uri": f"/v1/vector_stores/vs_1/files/doc_1/pages/{number}",
    }
    return FoundPage(page=number, text=text, **{**known, **more})
