"""The call of a tool: the conversation, the assistant, the caller, and how to report statuses."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, Literal, Protocol, get_args

from typing_extensions import TypeVar

from heddle_tools_service.sdk.routing import Environment, TreeData

Mode = Literal["augment", "function", "agent"]
Effect = Literal["read_only", "non_destructive", "destructive"]
EFFECTS: tuple[Effect, ...] = get_args(Effect)
"""The kinds of change that a call of a tool can make outside of the answer."""
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
    """The owner, whose rights decide what the assistant may read; usually an e-mail address."""
    organization: str = ""
    system_prompt: str = ""
    prompt_template: str = ""
    connector: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who sends the request, as the gateway authenticated it.

    No member of a request's content is used for it.
    """

    subject: str = "developer"
    organization: str = ""
    scopes: tuple[str, ...] = ()
    client_user: str = ""
    """The user's number at a trusted client that sends no e-mail address; else empty."""


@dataclass(frozen=True, slots=True)
class EarlierResult:
    """The text that another tool of the run put into its slot. Only if tools run one by one."""

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
    """A call of a tool, the first parameter of its function.

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
    """The time limit of the call in seconds."""
    build_request: Callable[[], dict[str, Any]]
    """Builds `request`."""
    mode: Mode = "augment"
    """The mode: it fills a slot, a model calls it, or the routing agent runs it."""
    tree: TreeData = _NO_RUN
    """The state of the routing agent's run; outside such a run, the state of a new one."""

    @property
    def called(self) -> bool:
        """Whether the tool is called with arguments instead of filling a slot."""
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
    """The data by which a tool decides whether to offer a function to a model."""

    config: ConfigT
    """The checked configuration."""
    assistant: Assistant
    caller: Caller
