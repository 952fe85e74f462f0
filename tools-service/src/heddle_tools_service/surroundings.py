"""What a tool can see and use: the shapes and interfaces that `sdk` hands to authors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Protocol

from heddle_tools_service.facts.records import Rows, Table
from heddle_tools_service.knowledge.records import Filter
from heddle_tools_service.workspace.shapes import (
    FileEdits,
    FileQuery,
    Listing,
    Matches,
    Page,
    Patched,
)


@dataclass(frozen=True, slots=True)
class Assistant:
    """The assistant that is answered as."""

    id: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    owner: str = ""
    """Whose rights decide what the assistant may read, usually an e-mail address."""
    organization: str = ""
    system_prompt: str = ""
    prompt_template: str = ""
    connector: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the gateway established it. Never taken from a request's content."""

    subject: str = "anonymous"
    organization: str = ""
    scopes: tuple[str, ...] = ()
    client_user: str = ""
    """The number of the person at a trusted client that tells no e-mail address; else empty."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What another tool of the same run put into its slot. Only if tools run one by one."""

    id: str
    tool: str
    slot: str
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of a document that matches a question."""

    text: str
    title: str
    uri: str = ""
    score: float = 0.0
    """The similarity to the question; 1.0 is the best."""
    section: str = ""
    """The text around the passage. Empty if the backend does not tell."""
    attributes: dict[str, str] = field(default_factory=dict)
    document: str = ""
    """The document's name in its collection. Empty if the backend does not tell, as all that
    follows."""
    document_id: str = ""
    chunk_id: str = ""
    chunk_index: int | None = None
    """Its place in the document, counted from 0."""
    page: int = 0
    """Counted from 1."""
    relevance: float | None = None
    """What the passages of one search are ordered by, comparable only among them; 0.0 is one."""
    picture_uri: str = ""
    """Where a picture of the page is, relative to the gateway."""
    collection: str = ""
    """As it was named in the search."""


@dataclass(frozen=True, slots=True)
class FailedSearch:
    """A collection that could not be searched, and why, in words that may be shown."""

    collection: str
    message: str
    unavailable: bool = False
    """Whether trying again later may help."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a search found: the passages collection by collection, the best of each first."""

    passages: tuple[Passage, ...] = ()
    failures: tuple[FailedSearch, ...] = ()
    warnings: tuple[str, ...] = ()
    """What the backend of a collection could not heed, one sentence each."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How a search chooses and orders passages, beyond the question."""

    filter: Filter | None = None
    """What documents must be like."""
    time_from: datetime | None = None
    """Only documents of this time or later."""
    time_to: datetime | None = None
    """Only documents of before this time."""
    recency_weight: float = 0.0
    """How much the age of documents counts, 0 to 1."""
    vector_weight: float | None = None
    """How much meaning counts, 0 to 1; words count the rest. None for what suits the question."""
    fusion: Literal["convex", "reciprocal_rank"] = "convex"
    """How the ranks by meaning and by words become one: by scores, or by places alone."""
    reranking: Literal["none", "late_interaction", "model"] = "none"
    """What orders the best passages anew."""


NO_OPTIONS = SearchOptions()


class Knowledge(Protocol):
    """The collections that the assistant may search."""

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
        """Search all `collections` at once.

        Args:
            collections: Their names. Each one's record tells where it is kept.
            query: The question.
            top_k: The most passages from each collection.
            threshold: The least similarity; 0 means any.
            sections: Ask for the section around each passage.
            options: What to choose and order passages by. A LAMB knowledge-base server heeds
                none of it; what it would have left out or put elsewhere, a warning tells.

        Returns:
            Passages in the order of `collections`. A collection that fails is told, not raised.
        """


class OpenCatalogue(Protocol):
    """What was known about documents at one moment."""

    @property
    def documents(self) -> int:
        """How many there are."""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that can be asked, with examples: `documents`, and `metadata`."""

    @property
    def failures(self) -> tuple[FailedSearch, ...]:
        """The collections that were not read."""

    async def select(self, sql: str, *, most: int) -> Rows:
        """Return what a query finds.

        Args:
            sql: One SELECT statement for SQLite, whoever wrote it: nothing else is run, and it
                sees nothing but `tables`.
            most: Rows at most.

        Raises:
            ToolError: The query is wrong, not allowed, or takes too long or too much, with the
                kind `refused_query`. The message helps to write a better one.
        """


class Catalogue(Protocol):
    """What is known about the documents that the assistant may search, apart from their text."""

    async def open(self, collections: Sequence[str]) -> OpenCatalogue:
        """Read what is known now about the documents of `collections`.

        A collection that cannot be read is told, not raised.

        Raises:
            ToolError: There is too much.
        """


@dataclass(frozen=True, slots=True)
class Mentions:
    """What a part of a graph rests on."""

    passages: int
    """In how many passages it stands."""
    shown: tuple[Passage, ...]
    """The most telling of them."""


@dataclass(frozen=True, slots=True)
class Theme:
    """Names that stand together more than with others."""

    names: tuple[str, ...]
    """The most central first."""
    size: int
    """Names in all."""
    within: tuple[tuple[str, ...], ...]
    """The central names of the themes inside of it, the largest first."""
    mentions: Mentions


@dataclass(frozen=True, slots=True)
class Link:
    """Two names that stand in one passage; what they have to do with each other is not known."""

    start: str
    end: str
    mentions: Mentions


@dataclass(frozen=True, slots=True)
class GraphFindings:
    """What graphs say."""

    names: int
    """In the graphs."""
    links: int
    documents: int
    """In the graphs."""
    themes: tuple[Theme, ...] = ()
    paths: tuple[tuple[Link, ...], ...] = ()
    unknown: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Names that were asked about and are not in the graphs, each with similar ones that are."""
    failures: tuple[FailedSearch, ...] = ()
    warnings: tuple[str, ...] = ()
    """What is not in the graphs."""


class Graph(Protocol):
    """The graphs of names of the collections that the assistant may search.

    A collection that cannot be asked is told, not raised.
    """

    async def themes(
        self, collections: Sequence[str], *, most: int, query: str = ""
    ) -> GraphFindings:
        """Return the `most` themes of `collections` that are mentioned most.

        Those with names that have a word of `query` come first.

        Raises:
            ToolUnavailableError: The graphs give no answer.
        """

    async def paths(
        self, collections: Sequence[str], start: str, end: str, *, most: int
    ) -> GraphFindings:
        """Return how two names hang together: up to `most` short ways that share no name.

        Raises:
            ToolUnavailableError: The graphs give no answer.
        """


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of a document that matches a question."""

    collection: str
    document: str
    document_id: str
    title: str
    uri: str
    page: int
    """Counted from 1."""
    score: float
    """What the pages of one search are ordered by, comparable only among them."""
    text: str
    """What is written on the page."""
    figures: tuple[str, ...] = ()
    """What is written in its figures and tables."""
    picture_uri: str = ""
    """Where its picture is, relative to the gateway."""


@dataclass(frozen=True, slots=True)
class FoundPages:
    """What a search for pages found, the best first."""

    pages: tuple[FoundPage, ...] = ()
    failures: tuple[FailedSearch, ...] = ()
    model: str = ""
    """What ranked them."""
    visual: bool = False
    """Whether it sees pictures, and not only the words on them."""


@dataclass(frozen=True, slots=True)
class Interpretation:
    """What was made of the picture of a page."""

    text: str
    model: str
    """What looked at it."""
    visual: bool
    """Whether that sees pictures. If not, `text` is what is written on the page."""


class Pages(Protocol):
    """The pages of the collections that the assistant may search."""

    async def search(self, collections: Sequence[str], query: str, *, top_k: int) -> FoundPages:
        """Search the pages of all `collections` at once.

        Args:
            collections: Their names.
            query: The question.
            top_k: The most pages.

        Returns:
            Pages, the best first. A collection that fails is told, not raised.
        """

    async def find(self, collections: Sequence[str], picture_uri: str) -> FoundPage:
        """Return the page of a picture, with a score of 0.0.

        Args:
            collections: Where it may be: their names.
            picture_uri: As `FoundPage.picture_uri`.

        Raises:
            ToolError: It is no such address, or of a page elsewhere; which of the two is not told.
        """

    async def interpret(self, page: FoundPage, prompt: str) -> Interpretation:
        """Let the vision model look at the picture of a page.

        Args:
            page: As `search` or `find` returned it.
            prompt: What to look for.

        Returns:
            What it sees; without a vision model what is written on the page, `visual` being False.

        Raises:
            ToolError: The page is not there any more, or the model refuses.
            ToolUnavailableError: The model does not answer.
        """


@dataclass(frozen=True, slots=True)
class FileText:
    """The beginning of a file."""

    text: str
    truncated: bool
    """Whether the file goes on."""


class Files(Protocol):
    """The files that the assistant may read."""

    async def read(self, path: str, most: int) -> FileText:
        """Return up to `most` characters of the UTF-8 file at `path`, relative to the files' root.

        Raises:
            ToolError: `Invalid file path` (outside of the root, somebody else's, not a file),
                `File not found: …`, or `Failed to read file: …`.
        """


@dataclass(frozen=True, slots=True)
class Rubric:
    """An assessment rubric as it is stored."""

    id: str
    title: str
    data: Any
    """The content: a JSON value, or the text of one."""


class Rubrics(Protocol):
    """The rubrics that the assistant may use."""

    async def get(self, rubric_id: str) -> Rubric | None:
        """Return a rubric; None if there is none, or none that the assistant's owner may read."""


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that a tool made to a file."""

    path: str
    reason: str = ""
    first: int = 0
    """The first line that was replaced, from 1; 0 if the change is not one of lines."""
    last: int = 0
    """The last line that was replaced; one less than `first` if lines were inserted only."""
    diff: str = ""
    """The unified diff of all changes of the file; on the first of them only."""


class Tell(Protocol):
    """Tells the person who waits what a tool does."""

    def __call__(self, message: str, change: FileChange | None = None, /) -> None:
        """Tell it in one short phrase without secrets, with the change that it is about."""


class Workspace(Protocol):
    """The folder whose text files the caller's tools may change.

    Every method raises `ToolError` for a refusal, with one of the kinds `content_mismatch`,
    `invalid_range`, `overlap`, `path_denied`, `not_found`, `not_text`, `invalid_arguments` and
    `conflict`, and `ToolUnavailableError` if the disk fails. Paths are relative to the folder.
    """

    def inside(self, folder: str, *, shared: bool = False) -> "Workspace":
        """Return the same with everything out of reach that is not in `folder`.

        Args:
            folder: A folder; empty for everything.
            shared: Whether it is in the workspace that the caller's organisation shares, instead
                of in the caller's own.
        """

    async def patch(
        self, files: Sequence[FileEdits], *, dry_run: bool = False, relocate: bool = False
    ) -> Patched:
        """Change all `files`, or none.

        Args:
            files: What to change.
            dry_run: Only tell what would become of them.
            relocate: Follow an old text that stands at one other place.
        """

    async def restore(self, identifier: str, *, path: str = "", force: bool = False) -> Patched:
        """Put back what a patch replaced: all of its files, or the one at `path`.

        Args:
            identifier: The `restore_id` of the patch.
            path: The only file to put back.
            force: Whether to lose what was changed since.
        """

    async def page(self, path: str, first: int = 1, last: int | None = None) -> Page:
        """Return lines `first` to `last` of a file, or to its end."""

    async def entries(self, folder: str, pattern: str, *, depth: int, most: int) -> Listing:
        """Return what is in a folder, `depth` levels deep; of files those that match a glob."""

    async def find(self, query: FileQuery) -> Matches:
        """Return the lines of files that match."""


@dataclass(frozen=True, slots=True)
class WebResult:
    """A page of the web that was found."""

    title: str
    url: str
    """An http or https address."""
    snippet: str = ""
    """What it says about the question, plain text."""
    published: str = ""
    """When, as the provider tells it; empty if it does not."""


@dataclass(frozen=True, slots=True)
class WebAnswer:
    """What a search of the web found."""

    provider: str
    answer: str = ""
    """The provider's own answer in words; empty if it gives none."""
    results: tuple[WebResult, ...] = ()
    """The best first."""
    citations: tuple[str, ...] = ()
    """The addresses that `[1]`, `[2]` and so on in `answer` stand for; else those of `results`."""


class Web(Protocol):
    """The web, by the search provider that is set up for the assistant."""

    async def providers(self) -> tuple[str, ...]:
        """Return the names of the providers that are set up, the preferred one first.

        Raises:
            ToolUnavailableError: It cannot be told at the moment.
        """

    async def search(self, query: str, *, most: int, provider: str = "") -> WebAnswer:
        """Search the web.

        Args:
            query: What to look for.
            most: The most results.
            provider: Whom to ask; empty for the preferred one.

        Raises:
            ToolError: No provider is set up, or it refuses or answers nonsense. The message
                never holds a key.
            ToolUnavailableError: It does not answer, is broken or busy.
        """


class Generate(Protocol):
    """The small fast model for work inside of tools."""

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - the limit travels with the call to the model
        """Return the model's answer to `prompt`."""
