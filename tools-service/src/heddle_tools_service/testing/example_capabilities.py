"""Capabilities for conformance checks: some return examples at once, others never answer."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from types import SimpleNamespace
from typing import Any

import httpx

from heddle_tools_service.capabilities.document_queries import (
    Column,
    DocumentQueries,
    DocumentTables,
    Rows,
    Table,
)
from heddle_tools_service.capabilities.files import Files, FileText
from heddle_tools_service.capabilities.graph import Graph, GraphResults, GraphSummary, GraphTheme
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
from heddle_tools_service.testing.documents import (
    ScriptedModel,
    ScriptedPages,
    ScriptedPassages,
)

SECONDS = 5.0
"""The time limit of a call, as the tool sees it."""
PASSAGE = Passage("A shed is a gap.", "Sheds", "http://w/", 0.5)
PAGE = PageMatch(
    *("looms", "a.pdf", "doc_1", "Sheds", "http://w/", 3, 0.5, "A shed is a gap."),
    picture_uri="/v1/vector_stores/vs_1/files/doc_1/pages/3",
)
_SUMMARY = GraphSummary(entity_count=2, link_count=1, document_count=1)
REMOTE_TOOL = RemoteTool("search", "Finds.", {"type": "object"})


_TABLES = (Table(name="documents", columns=[Column(name="title", type="TEXT")]),)
_CHANGE = Change(0, 1, 1, 1, 1, "clearer", unchanged=False)
_PATCHED = ChangedFile("a.py", "changed", "abc", (_CHANGE,), "-a\n+b\n", 1, 1)
_RUBRIC = {"criteria": [{"name": "A", "levels": [{"score": 1}]}]}


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


def _returning(value: object) -> Callable[..., Awaitable[Any]]:
    async def method(*_: object, **__: object) -> object:
        return value

    return method


def example_capabilities() -> dict[type, object]:
    """Return an instance of every capability except `httpx.AsyncClient`, which answers at once."""
    rows = Rows("SELECT title FROM documents", ("title",), (("Sheds",),), truncated=False)
    tables = DocumentTables(documents=1, tables=_TABLES, failures=())
    theme = GraphTheme(entities=["shed", "gap"], entity_count=2, passage_count=1)
    weather = CurrentWeather("Paris", 20.5, "clear sky", "by the sky", "http://sky/")
    page = WebResult("Sheds", "http://w/", "A gap.")
    session = SimpleNamespace(
        tools=_returning([REMOTE_TOOL]),
        call=_returning(RemoteAnswer("A shed is a gap.", failed=False)),
    )
    return {
        DocumentQueries: SimpleNamespace(describe=_returning(tables), select=_returning(rows)),
        Files: SimpleNamespace(read=_returning(FileText("notes.md", "notes", truncated=False))),
        Graph: SimpleNamespace(
            themes=_returning(GraphResults(_SUMMARY, [theme])),
            paths=_returning(GraphResults(_SUMMARY)),
        ),
        Moodle: SimpleNamespace(
            user=_returning(7),
            courses=_returning((Course(1, "Looms", "L1", "Crafts"),)),
            assignments=_returning(Assignments((), 0, ())),
        ),
        Pages: ScriptedPages([PAGE]),
        Passages: ScriptedPassages([PASSAGE]),
        RemoteServers: SimpleNamespace(use=lambda _, work: work(session)),
        Rubrics: SimpleNamespace(get=_returning(Rubric("1", "Essay", _RUBRIC))),
        SmallModel: SmallModel(ScriptedModel(["width of a shed"]), SECONDS),
        Weather: SimpleNamespace(now=_returning(weather)),
        WebSearch: SimpleNamespace(
            providers=_returning(("searxng",)),
            search=_returning(WebAnswer("searxng", "A gap.", (page,))),
        ),
        Workspace: SimpleNamespace(
            patch=_returning(Patched((_PATCHED,), "1")),
            restore=_returning(Patched((ChangedFile("a.py", "restored", "abc"),), "2")),
            page=_returning(Page("a.py", "abc", 1, ("a = 1",), 1, "LF", final_newline=True)),
            entries=_returning(Listing((Entry("a.py", folder=False, size=6),))),
            find=_returning(Matches((Match("a.py", 1, "a = 1"),), 1, 0)),
        ),
    }


def silent_capabilities(more: Mapping[type, object] | None = None) -> dict[type, object]:
    """Return the same capabilities, and those of `more`, as ones that never answer."""
    return dict.fromkeys([*example_capabilities(), *(more or {})], Silent())


REQUESTABLE: frozenset[type] = frozenset([httpx.AsyncClient, *example_capabilities()])
"""The capabilities that Heddle registers."""
