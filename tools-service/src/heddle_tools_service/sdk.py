"""What the author of a tool imports. `tools/word_count.py` is the smallest example.

A tool is one function with the `tool` decorator. It takes a `ToolCall` and returns a `ToolResult`,
or raises `ToolError`. The function is async, or an ordinary one, which then runs in a thread; only
an async one can use the client, the knowledge bases, the files, the workspace, the rubrics and the
small model.

An async function can also yield, as it goes on, and only these: `Status`, `Result`, `Error` and
`Response`. What it yields becomes one result. Its text is that of the responses; without one it is
made of the objects that were found. Errors are warnings if anything else was yielded, and else the
last of them is the tool's. Each of the four has `to_frontend(query_id)`, the form in which clients
get what comes out of the routing agent.

One tool can be bound in several modes: `augment`, to fill a slot before the model answers,
`function`, where the model calls it, and `agent`, where the routing agent chooses it among others.
What the model or the agent sends is `ToolCall.query`, or what the tool's own `arguments` say. For
the agent, give the tool `examples`, and its result `objects`.
"""

import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal

import httpx
from heddle_runtime.outputs import Error, Response, Result, Status, ToolOutput
from typing_extensions import TypeVar

from heddle_tools_service.facts.records import Column, Rows, Table
from heddle_tools_service.knowledge.records import AllOf, AnyOf, Comparison, Filter
from heddle_tools_service.lms import Assignment, Assignments, Course, Moodle
from heddle_tools_service.models import (
    SCHEMA_DIALECT,
    NoArguments,
    NoOptions,
    Query,
    ToolArguments,
    ToolConfig,
    arguments_schema,
    schema_of,
)
from heddle_tools_service.remote_servers import (
    RemoteAnswer,
    RemoteServer,
    RemoteServers,
    RemoteSession,
    RemoteTool,
)
from heddle_tools_service.routing import (
    Environment,
    Example,
    FailedTool,
    Found,
    PastRun,
    TreeData,
    Trigger,
)
from heddle_tools_service.surroundings import (
    NO_OPTIONS,
    Assistant,
    Caller,
    Catalogue,
    EarlierResult,
    FailedSearch,
    FileChange,
    Files,
    FileText,
    Findings,
    FoundPage,
    FoundPages,
    Generate,
    Graph,
    GraphFindings,
    Interpretation,
    Knowledge,
    Link,
    Mentions,
    OpenCatalogue,
    Pages,
    Passage,
    Rubric,
    Rubrics,
    SearchOptions,
    Tell,
    Theme,
    Web,
    WebAnswer,
    WebResult,
    Workspace,
)
from heddle_tools_service.weather import CurrentWeather, Weather
from heddle_tools_service.workspace.shapes import (
    ChangedFile,
    Edit,
    Entry,
    FileEdits,
    FileQuery,
    Listing,
    Matches,
    Page,
    Patched,
)

__all__ = [
    "NO_OPTIONS",
    "SCHEMA_DIALECT",
    "AllOf",
    "AnyOf",
    "Assignment",
    "Assignments",
    "Assistant",
    "CalledFunction",
    "Caller",
    "Catalogue",
    "ChangedFile",
    "Column",
    "Comparison",
    "Course",
    "CurrentWeather",
    "EarlierResult",
    "Edit",
    "Entry",
    "Environment",
    "Error",
    "Example",
    "FailedSearch",
    "FailedTool",
    "FileChange",
    "FileEdits",
    "FileQuery",
    "FileText",
    "Files",
    "Filter",
    "Findings",
    "Found",
    "FoundPage",
    "FoundPages",
    "Function",
    "Graph",
    "GraphFindings",
    "HeldBack",
    "Interpretation",
    "Knowledge",
    "Link",
    "Listing",
    "Matches",
    "Mentions",
    "Mode",
    "Moodle",
    "NoArguments",
    "NoOptions",
    "Occasion",
    "Offered",
    "OpenCatalogue",
    "Page",
    "Pages",
    "Passage",
    "PastRun",
    "Patched",
    "Query",
    "RemoteAnswer",
    "RemoteServer",
    "RemoteServers",
    "RemoteSession",
    "RemoteTool",
    "Response",
    "Result",
    "Rows",
    "Rubric",
    "Rubrics",
    "SearchOptions",
    "Source",
    "Status",
    "Table",
    "Tell",
    "Theme",
    "Tool",
    "ToolArguments",
    "ToolCall",
    "ToolConfig",
    "ToolError",
    "ToolOutput",
    "ToolResult",
    "ToolUnavailableError",
    "TreeData",
    "Trigger",
    "Weather",
    "Web",
    "WebAnswer",
    "WebResult",
    "Workspace",
    "tool",
]
Mode = Literal["augment", "function", "agent"]
CALLED: frozenset[Mode] = frozenset({"function", "agent"})
"""The modes in which a tool is called with arguments."""


class ToolError(Exception):
    """The tool gives up. The message is shown to people and models: it must not hold secrets."""

    def __init__(
        self, message: str = "", *, kind: str = "", details: Mapping[str, Any] | None = None
    ) -> None:
        """Say why.

        Args:
            message: What is wrong, and how to mend it.
            kind: One of the tool's own words for it, for programs and for the model.
            details: What else the model should know, plain JSON. The routing agent reads
                `recoverable` (without it, a `ToolUnavailableError` is) and `suggestion`.
        """
        super().__init__(message)
        self.kind = kind
        self.details = dict(details or {})


class ToolUnavailableError(ToolError):
    """Something behind the tool is down; trying again later may help."""


@dataclass(frozen=True, slots=True)
class Source:
    """Something a result rests on."""

    title: str
    uri: str = ""
    """Where people can read it."""
    excerpt: str = ""
    """The passage that was used."""
    score: float | None = None
    """How well it matches; None if the tool does not rank. 0.0 is a rank."""
    kind: str = "passage"
    attributes: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a tool found."""

    text: str
    """Goes into the template's slot as it is. Empty if nothing was found."""
    sources: Sequence[Source] = ()
    metadata: dict[str, Any] = field(default_factory=dict)
    """Facts for traces, plain JSON; not shown to the model. No contents, no secrets."""
    warnings: Sequence[str] = ()
    """Parts of the work that failed while the rest succeeded, one sentence each."""
    slot: str = ""
    """The slot to fill, if it is another than the tool's own."""
    objects: Sequence[Mapping[str, Any]] = ()
    """What was found, piece by piece, plain JSON, for the environment of the routing agent. Without
    them the text is the one object, `{"text": …}`."""
    name: str = ""
    """What the objects are, for example their collection. Without it, the tool's name counts."""
    message: str = ""
    """One sentence about the result for whoever decides what to do next."""

    @classmethod
    def json(cls, value: Any, **others: Any) -> "ToolResult":
        """Return a result whose text is JSON, as models like to read what a function returns."""
        return cls(json.dumps(value, ensure_ascii=False), **others)


_NO_RUN = TreeData()
ConfigT = TypeVar("ConfigT")
ArgumentsT = TypeVar("ArgumentsT", default=Any)
ModelT = TypeVar("ModelT", bound=ToolConfig)


@dataclass(frozen=True)
class ToolCall(Generic[ConfigT, ArgumentsT]):
    """One call of a tool: what it is given, and its ways to the outside."""

    longest_generation: ClassVar[float] = 10.0
    """Seconds that `generate` takes at most."""

    config: ConfigT
    """The checked configuration, defaults filled in."""
    arguments: ArgumentsT
    """What the model sent, checked, if it called the tool; else the defaults of the arguments."""
    query: str
    """What to work on: what the model asks for if it called the tool, else the last user message,
    its text parts joined by a space. Empty if there is none."""
    assistant: Assistant
    identity: Caller
    earlier: tuple[EarlierResult, ...]
    """What tools found earlier in the run, in the order in which they ran."""
    status: Tell
    """Tells the person who waits what is being done, in one short phrase without secrets."""
    http: httpx.AsyncClient
    """For requests to other servers. Follows no redirects, keeps no cookies."""
    knowledge: Knowledge
    catalogue: Catalogue
    graph: Graph
    pages: Pages
    web: Web
    files: Files
    rubrics: Rubrics
    moodle: Moodle
    weather: Weather
    workspace: Workspace
    servers: RemoteServers
    """Those that speak MCP."""
    seconds: float
    """How long the call may take."""
    build_request: Callable[[], dict[str, Any]]
    """Makes `request`."""
    small_model: Generate | None
    """The small fast model; None if none is configured. Use `generate`."""
    mode: Mode = "augment"
    """Who asks: a slot that wants to be filled, a model that may call the tool, or the agent."""
    tree: TreeData = _NO_RUN
    """The state of the run, if it is the routing agent that asks; else one that has just begun."""

    @property
    def called(self) -> bool:
        """Whether the tool is called with arguments; else it fills a slot."""
        return self.mode in CALLED

    @property
    def environment(self) -> Environment:
        """What the tools of the routing agent have found so far in this run."""
        return self.tree.environment

    @cached_property
    def request(self) -> dict[str, Any]:
        """The complete request in OpenAI's shape: `messages`, `stream`, every other member."""
        return self.build_request()

    @property
    def can_generate(self) -> bool:
        """Whether a small fast model is configured."""
        return self.small_model is not None

    async def generate(self, prompt: str, *, max_tokens: int = 200) -> str:
        """Return the small fast model's answer to `prompt`.

        Takes at most a third of the call's time, and at most 10 s, so that a tool which can do
        without the answer still can when there is none.

        Raises:
            ToolUnavailableError: No such model is configured, or it does not answer.
        """
        if self.small_model is None:
            raise ToolUnavailableError("No small fast model is configured.")
        limit = min(self.longest_generation, self.seconds / 3)
        return await self.small_model(prompt, timeout=limit, max_tokens=max_tokens)


@dataclass(frozen=True, slots=True)
class Occasion(Generic[ConfigT]):
    """Where a function may be offered."""

    config: ConfigT
    """The checked configuration."""
    assistant: Assistant
    identity: Caller


Outcome = ToolResult | Awaitable[ToolResult] | AsyncIterator[ToolOutput]
"""What a tool's function gives back."""
Run = Callable[[ToolCall[Any, Any]], Outcome]


@dataclass(frozen=True, slots=True)
class Function:
    """What a model sees of a tool."""

    name: str
    description: str
    schema: dict[str, Any]
    """The JSON Schema (2020-12) of the arguments."""
    parse: Callable[[dict[str, Any]], Any]
    """Makes of arguments that fit the schema what `ToolCall.arguments` is."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """A function of somebody else's that models are not told of until somebody accepts it."""

    name: str
    """What its server calls it."""
    description: str
    schema: Mapping[str, Any]
    pin: str
    """What accepts it as it is now. Empty if nothing can."""
    reason: str
    """Why it is held back and what to do, without a word of the server's but the name."""


@dataclass(frozen=True, slots=True)
class Offered:
    """What a tool whose functions hang on its configuration offers to a model."""

    functions: Sequence[Function] = ()
    held_back: Sequence[HeldBack] = ()


@dataclass(frozen=True, slots=True)
class CalledFunction:
    """What `ToolCall.arguments` is of a tool whose functions hang on its configuration."""

    name: str
    arguments: dict[str, Any]
    """What the model wrote. Not checked: the tool does that."""


Offer = Callable[[ToolCall[Any, Any]], Awaitable[Offered]]
Available = Callable[[ToolCall[Any, Any]], Awaitable[bool]]
Triggered = Callable[[ToolCall[Any, Any]], Awaitable[Trigger | None]]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as the registry knows it. Made with the `tool` decorator."""

    name: str
    title: str
    description: str
    slot: str
    schema: dict[str, Any]
    """The JSON Schema (2020-12) of the configuration."""
    parse: Callable[[dict[str, Any]], Any]
    """Makes of a configuration that fits the schema what `ToolCall.config` is."""
    run: Run
    category: str = "custom"
    version: str = "1.0"
    modes: tuple[Mode, ...] = ("augment",)
    module: str = ""
    """Where the tool is defined."""
    function: Function | None = None
    """None if models cannot call it, or `offer` knows."""
    offer: Offer | None = None
    """Tells what models can call under a configuration, where that hangs on it."""
    enabled: Callable[[Occasion[Any]], bool] | None = None
    """Whether models may call it on an occasion. None if always."""
    available: Available | None = None
    """Whether it is of use now. None if always."""
    trigger: Triggered | None = None
    """Whether the routing agent must run it now. None if never."""
    end: bool = False
    """Whether a run of the routing agent ends with it."""
    examples: tuple[Example, ...] = ()

    @property
    def blocking(self) -> bool:
        """Whether the function runs in a thread."""
        run = self.run
        return not (inspect.iscoroutinefunction(run) or inspect.isasyncgenfunction(run))


def tool(  # noqa: PLR0913 - what a definition says, each by its name
    name: str,
    *,
    title: str,
    config: type[ModelT] = NoOptions,  # type: ignore[assignment] # a type variable takes no default
    arguments: type[ToolArguments] | None = None,
    function: str = "",
    offer: Offer | None = None,
    slot: str = "context",
    category: str = "custom",
    version: str = "1.0",
    modes: tuple[Mode, ...] = ("augment",),
    enabled: Callable[[Occasion[ModelT]], bool] | None = None,
    available: Available | None = None,
    trigger: Triggered | None = None,
    end: bool = False,
    examples: Sequence[Example] = (),
) -> Callable[[Callable[[ToolCall[ModelT, Any]], Outcome]], Tool]:
    """Make a `Tool` of a function; the first line of its docstring is the tool's description.

    Args:
        name: The unique name, `[a-z][a-z0-9_]{0,62}`.
        title: The name shown to people.
        config: What an assistant's author can set. Without it: nothing.
        arguments: What a model that calls the tool fills in. Without it: `Query`.
        function: What the tool is called by a model. Without it: `name`.
        offer: Tells the functions under a configuration; `arguments` and `function` mean nothing
            then, and the tool's function gets a `CalledFunction` as its arguments.
        slot: The template slot that is filled when a binding names none.
        category: `rag`, `rubric`, `file`, `utilities`, `lms` or `custom`, for lists.
        version: For people.
        modes: The ways in which the tool can be bound.
        enabled: Whether models may call it on an occasion. Without it: always. It is asked when
            functions are offered and again when one is called, so it must be quick.
        available: Whether it is of use now, asked when functions are offered and by the routing
            agent before each decision, which it tells its state in `ToolCall.tree`;
            `ToolCall.arguments` is None. It raises `ToolError` to say why not. Without it: always.
        trigger: What the routing agent must run it with now, without deciding so. Without it, and
            where it returns None, the agent decides.
        end: Whether a run of the routing agent ends with it: its text is the answer.
        examples: Requests that it is right for, which the agent shows models when they decide.
    """

    def decorate(run: Callable[[ToolCall[ModelT, Any]], Outcome]) -> Tool:
        description, _, _ = (run.__doc__ or "").strip().partition("\n")
        taken = arguments or Query
        offered = Function(
            function or name, description, arguments_schema(taken), taken.model_validate
        )
        return Tool(
            name,
            title,
            description,
            slot,
            schema_of(config),
            config.model_validate,
            run,
            category,
            version,
            modes,
            run.__module__,
            offered if CALLED & set(modes) and offer is None else None,
            offer,
            enabled,
            available,
            trigger,
            end,
            tuple(examples),
        )

    return decorate
