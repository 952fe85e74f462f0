"""What tools ask: neighbours that always answer, and others that never do."""

import asyncio
from typing import Any, NoReturn

from heddle_knowledge.document_queries.schema import tables_of
from heddle_tools_service.sdk import (
    Assignments,
    ChangedFile,
    Course,
    CurrentWeather,
    Entry,
    FileText,
    Findings,
    FoundPage,
    FoundPages,
    GraphFindings,
    Interpretation,
    Listing,
    Matches,
    Mentions,
    Page,
    Passage,
    Patched,
    RemoteAnswer,
    RemoteTool,
    Rows,
    Rubric,
    Theme,
    WebAnswer,
    WebResult,
)
from heddle_tools_service.workspace.shapes import Change, Match

REMOTE = RemoteTool("search", "Finds.", {"type": "object"})


PAGE = FoundPage(
    *("looms", "a.pdf", "doc_1", "Sheds", "http://w/", 3, 0.5, "A shed is a gap."),
    picture_uri="/v1/vector_stores/vs_1/files/doc_1/pages/3",
)


class FindingPages:
    """Pages where everything is found."""

    async def search(self, *_: object, **__: object) -> FoundPages:
        return FoundPages((PAGE,), model="words")

    async def find(self, *_: object) -> FoundPage:
        return PAGE

    async def interpret(self, *_: object) -> Interpretation:
        return Interpretation("A gap.", "eyes", visual=True)


class FindingWeb:
    """A web where everything is found."""

    async def providers(self) -> tuple[str, ...]:
        return ("searxng",)

    async def search(self, *_: object, **__: object) -> WebAnswer:
        return WebAnswer("searxng", "A gap.", (WebResult("Sheds", "http://w/", "A gap."),))


class Answering:
    """Knowledge, files, rubrics, Moodle, the weather, servers and a model that always answer."""

    pages = FindingPages()
    web = FindingWeb()

    async def search(self, *_: object, **__: object) -> Findings:
        return Findings((Passage("A shed is a gap.", "Sheds", "http://w/", 0.5),))

    async def open(self, *_: object) -> "Answering":
        return self

    async def themes(self, *_: object, **__: object) -> GraphFindings:
        passage = Passage("A shed is a gap.", "Sheds")
        theme = Theme(("shed", "gap"), 2, (), Mentions(1, (passage,)))
        return GraphFindings(2, 1, 1, (theme,))

    async def paths(self, *_: object, **__: object) -> GraphFindings:
        return GraphFindings(2, 1, 1)

    documents, failures, tables = 1, (), tables_of([])

    async def select(self, sql: str, **_: object) -> Rows:
        return Rows(sql, ("title",), (("Sheds",),), truncated=False)

    async def read(self, *_: object) -> FileText:
        return FileText("notes", truncated=False)

    def inside(self, _: str, **__: object) -> "Answering":
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

    async def get(self, rubric_id: str) -> Rubric:
        data = {"criteria": [{"name": "A", "levels": [{"score": 1}]}]}
        return Rubric(rubric_id, "Essay", data)

    async def now(self, city: str) -> CurrentWeather:
        return CurrentWeather(city, 20.5, "clear sky", "by the sky", "http://sky/")

    async def user(self) -> int:
        return 7

    async def courses(self) -> tuple[Course, ...]:
        return (Course(1, "Looms", "L1", "Crafts"),)

    async def assignments(self, **_: object) -> Assignments:
        return Assignments((), 0, ())

    async def use(self, _: object, work: Any) -> Any:
        return await work(self)

    async def tools(self) -> list[RemoteTool]:
        return [REMOTE]

    async def call(self, *_: object) -> RemoteAnswer:
        return RemoteAnswer("A shed is a gap.", failed=False)

    async def __call__(self, *_: object, **__: object) -> str:
        return "width of a shed"


class Silent:
    """The same, but none of them ever answers."""

    @property
    def pages(self) -> "Silent":
        return self

    @property
    def web(self) -> "Silent":
        return self

    async def search(self, *_: object, **__: object) -> Findings:
        await _never()

    async def open(self, *_: object) -> "Silent":
        await _never()

    async def themes(self, *_: object, **__: object) -> GraphFindings:
        await _never()

    async def paths(self, *_: object, **__: object) -> GraphFindings:
        await _never()

    async def read(self, *_: object) -> FileText:
        await _never()

    def inside(self, _: str, **__: object) -> "Silent":
        return self

    async def patch(self, *_: object, **__: object) -> Patched:
        await _never()

    async def restore(self, *_: object, **__: object) -> Patched:
        await _never()

    async def page(self, *_: object) -> Page:
        await _never()

    async def entries(self, *_: object, **__: object) -> Listing:
        await _never()

    async def find(self, *_: object) -> Matches:
        await _never()

    async def get(self, _: str) -> Rubric:
        await _never()

    async def now(self, _: str) -> CurrentWeather:
        await _never()

    async def user(self) -> int:
        await _never()

    async def courses(self) -> tuple[Course, ...]:
        await _never()

    async def assignments(self, **_: object) -> Assignments:
        await _never()

    async def use(self, *_: object) -> None:
        await _never()

    async def __call__(self, *_: object, **__: object) -> str:
        await _never()


async def _never() -> NoReturn:
    await asyncio.Event().wait()
    raise AssertionError("nobody sets it")
