"""Capabilities for conformance checks: some return examples at once, others never answer."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any

import httpx

from heddle_tools_service.capabilities.document_queries import (
    Column,
    DocumentQueries,
    Rows,
    Table,
)
from heddle_tools_service.capabilities.files import Files, FileText
from heddle_tools_service.capabilities.graph import Graph, GraphResults, Mentions, Theme
from heddle_tools_service.capabilities.moodle import Assignments, Course, Moodle
from heddle_tools_service.capabilities.pages import PageMatch, Pages
from heddle_tools_service.capabilities.passages import Passage, Passages
from heddle_tools_service.capabilities.remote_servers import (
    RemoteAnswer,
    RemoteServers,
    RemoteTool,
)
from heddle_tools_service.capabilities.rubrics import Rubric, Rubrics
from heddle_tools_service.capabilities.small_model import SmallModel
from heddle_tools_service.capabilities.weather import CurrentWeather, Weather
from heddle_tools_service.capabilities.web_search import WebAnswer, WebResult, WebSearch
from heddle_tools_service.capabilities.workspace import (
    Change,
    ChangedFile,
    Entry,
    Listing,
    Match,
    Matches,
    Page,
    Patched,
    Workspace,
)
from heddle_tools_service.sdk.testing.documents import (
    ScriptedModel,
    ScriptedPages,
    ScriptedPassages,
)

SECONDS = 5.0
"""How long a call may take, as the tool sees it."""
PASSAGE = Passage("A shed is a gap.", "Sheds", "http://w/", 0.5)
PAGE = PageMatch(
    *("looms", "a.pdf", "doc_1", "Sheds", "http://w/", 3, 0.5, "A shed is a gap."),
    picture_uri="/v1/vector_stores/vs_1/files/doc_1/pages/3",
)
REMOTE_TOOL = RemoteTool("search", "Finds.", {"type": "object"})


class _Documents:
    documents, failures = 1, ()
    tables = (Table("documents", (Column("title", "TEXT", "the title", ("Sheds",)),)),)

    async def open(self, *_: object) -> "_Documents":
        return self

    async def select(self, sql: str, **_: object) -> Rows:
        return Rows(sql, ("title",), (("Sheds",),), truncated=False)


class _Graph:
    async def themes(self, *_: object, **__: object) -> GraphResults:
        return GraphResults(2, 1, 1, (Theme(("shed", "gap"), 2, (), Mentions(1, (PASSAGE,))),))

    async def paths(self, *_: object, **__: object) -> GraphResults:
        return GraphResults(2, 1, 1)


class _Files:
    async def read(self, *_: object) -> FileText:
        return FileText("notes", truncated=False)


class _Rubrics:
    async def get(self, rubric_id: str) -> Rubric:
        data = {"criteria": [{"name": "A", "levels": [{"score": 1}]}]}
        return Rubric(rubric_id, "Essay", data)


class _Moodle:
    async def user(self) -> int:
        return 7

    async def courses(self) -> tuple[Course, ...]:
        return (Course(1, "Looms", "L1", "Crafts"),)

    async def assignments(self, **_: object) -> Assignments:
        return Assignments((), 0, ())


class _Weather:
    async def now(self, city: str) -> CurrentWeather:
        return CurrentWeather(city, 20.5, "clear sky", "by the sky", "http://sky/")


class _WebSearch:
    async def providers(self) -> tuple[str, ...]:
        return ("searxng",)

    async def search(self, *_: object, **__: object) -> WebAnswer:
        return WebAnswer("searxng", "A gap.", (WebResult("Sheds", "http://w/", "A gap."),))


class _Workspace:
    def inside(self, _: str, **__: object) -> "_Workspace":
        return self

    async def patch(self, *_: object, **__: object) -> Patched:
        change = Change(0, 1, 1, 1, 1, "clearer", unchanged=False)
        return Patched((ChangedFile("a.py", "changed", "abc", (change,), "-a\n+b\n", 1, 1),), "1")

    async def restore(self, *_: object, **__: object) -> Patched:
        return Patched((ChangedFile("a.py", "restored", "abc"),), "2")

    async def page(self, *_: object) -> Page:
        return Page("a.py", "abc", 1, ("a = 1",), 1, "LF", final_newline=True)

    async def entries(self, *_: object, **__: object) -> Listing:
        return Listing((Entry("a.py", folder=False, size=6),))

    async def find(self, *_: object) -> Matches:
        return Matches((Match("a.py", 1, "a = 1"),), 1, 0)


class _RemoteServers:
    async def use(self, _: object, work: Callable[[Any], Awaitable[Any]]) -> object:
        return await work(self)

    async def tools(self) -> list[RemoteTool]:
        return [REMOTE_TOOL]

    async def call(self, *_: object) -> RemoteAnswer:
        return RemoteAnswer("A shed is a gap.", failed=False)


class Silent:
    """Stands for any capability: its methods never return."""

    def __getattr__(self, _: str) -> "Silent":
        """Return a method, or a value."""
        return self

    def __call__(self, *_: object, **__: object) -> "Silent":
        """Return an awaitable that never ends."""
        return self

    def __await__(self) -> Generator[Any, None, None]:
        """Wait until the waiting task is cancelled."""
        yield from asyncio.Event().wait().__await__()


def example_capabilities() -> dict[type, object]:
    """Return an instance of every capability except `httpx.AsyncClient`, which answers at once."""
    return {
        DocumentQueries: _Documents(),
        Files: _Files(),
        Graph: _Graph(),
        Moodle: _Moodle(),
        Pages: ScriptedPages([PAGE]),
        Passages: ScriptedPassages([PASSAGE]),
        RemoteServers: _RemoteServers(),
        Rubrics: _Rubrics(),
        SmallModel: SmallModel(ScriptedModel(["width of a shed"]), SECONDS),
        Weather: _Weather(),
        WebSearch: _WebSearch(),
        Workspace: _Workspace(),
    }


def silent_capabilities(more: Mapping[type, object] | None = None) -> dict[type, object]:
    """Return the same capabilities, and those of `more`, as ones that never answer."""
    return dict.fromkeys([*example_capabilities(), *(more or {})], Silent())


REQUESTABLE: frozenset[type] = frozenset([httpx.AsyncClient, *example_capabilities()])
"""The capabilities that Heddle registers."""
