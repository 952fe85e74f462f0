"""What a tool can see and use: the shapes and interfaces that `sdk` hands to authors."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


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
    ) -> Findings:
        """Search all `collections` at once.

        Args:
            collections: Their names. Each one's record tells where it is kept.
            query: The question.
            top_k: The most passages from each collection.
            threshold: The least similarity; 0 means any.
            sections: Ask for the section around each passage.

        Returns:
            Passages in the order of `collections`. A collection that fails is told, not raised.
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


class Generate(Protocol):
    """The small fast model for work inside of tools."""

    async def __call__(self, prompt: str, /, *, timeout: float, max_tokens: int) -> str:  # noqa: ASYNC109 - the limit travels with the call to the model
        """Return the model's answer to `prompt`."""
