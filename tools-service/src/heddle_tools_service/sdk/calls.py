"""The call of a tool: the conversation, the assistant, the caller, and how to report statuses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, Literal, Protocol

from typing_extensions import TypeVar

from heddle_tools_service.routing import Environment, TreeData

Mode = Literal["augment", "function", "agent"]
CALLED: frozenset[Mode] = frozenset({"function", "agent"})
"""The modes in which a tool is called with arguments."""
_NO_RUN = TreeData()
ConfigT = TypeVar("ConfigT")
ArgumentsT = TypeVar("ArgumentsT", default=Any)


@dataclass(frozen=True, slots=True)
class Assistant:
    """The assistant that answers."""

    id: str = ""
    name: str = ""
    title: str = ""
    description: str = ""
    owner: str = ""
    """Decides what the assistant may read; usually an e-mail address."""
    organization: str = ""
    system_prompt: str = ""
    prompt_template: str = ""
    connector: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who sends the request, as the gateway authenticated it.

    Never taken from a request's content.
    """

    subject: str = "anonymous"
    organization: str = ""
    scopes: tuple[str, ...] = ()
    client_user: str = ""
    """The user's number at a trusted client that sends no e-mail address; else empty."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """What another tool of the same run put into its slot. Only if tools run one by one."""

    id: str
    tool: str
    slot: str
    text: str


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that a tool made to a file."""

    path: str
    reason: str = ""
    first: int = 0
    """The first line that was replaced, from 1; 0 if the change has no line range."""
    last: int = 0
    """The last line that was replaced; `first` - 1 if lines were only inserted."""
    diff: str = ""
    """The unified diff of all changes of the file; on the first of them only."""


class ReportStatus(Protocol):
    """Reports to the waiting user what a tool is doing."""

    def __call__(self, message: str, change: FileChange | None = None, /) -> None:
        """Report one short phrase without secrets, with the file change it is about."""


@dataclass(frozen=True)
class ToolCall(Generic[ConfigT, ArgumentsT]):
    """One call of a tool: what every tool receives.

    A tool that needs more, for example passages of documents, requests a capability with a further
    parameter of its function; see `heddle_tools_service.capabilities`.
    """

    config: ConfigT
    """The checked configuration, with defaults."""
    arguments: ArgumentsT
    """The model's checked arguments if a model called the tool, else the arguments' defaults."""
    query: str
    """The model's query if a model called the tool, else the user's question: the text parts of the
    last user message, joined by a space, without what Open WebUI adds to a question about a file.
    Empty if there is none."""
    assistant: Assistant
    caller: Caller
    earlier: tuple[EarlierResult, ...]
    """The results of the tools that ran earlier in the run, in the order in which they ran."""
    status: ReportStatus
    """Reports to the waiting user what the tool is doing."""
    seconds: float
    """How long the call may take."""
    build_request: Callable[[], dict[str, Any]]
    """Builds `request`."""
    mode: Mode = "augment"
    """Whether a slot is filled, a model calls the tool, or the routing agent runs it."""
    tree: TreeData = _NO_RUN
    """The state of the routing agent's run; outside such a run, the state of a new one."""
    grant: str = field(default="", repr=False)
    """The right to read collections, for the capabilities that call the knowledge service."""

    @property
    def called(self) -> bool:
        """Whether the tool is called with arguments; else it fills a slot."""
        return self.mode in CALLED

    @property
    def environment(self) -> Environment:
        """The results of the routing agent's tools in this run so far."""
        return self.tree.environment

    @cached_property
    def request(self) -> dict[str, Any]:
        """The complete request in OpenAI's format: `messages`, `stream`, all other members."""
        return self.build_request()


@dataclass(frozen=True, slots=True)
class OfferContext(Generic[ConfigT]):
    """What decides whether a function is offered to a model."""

    config: ConfigT
    """The checked configuration."""
    assistant: Assistant
    caller: Caller
