"""What a tool is called with."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Generic, Literal

import httpx
from typing_extensions import TypeVar

from heddle_tools_service.lms import Moodle
from heddle_tools_service.remote_servers import (
    RemoteServers,
)
from heddle_tools_service.routing import (
    Environment,
    TreeData,
)
from heddle_tools_service.sdk.results import ToolUnavailableError
from heddle_tools_service.surroundings import (
    Assistant,
    Caller,
    Catalogue,
    EarlierResult,
    Files,
    Generate,
    Graph,
    Knowledge,
    Pages,
    Rubrics,
    Tell,
    Web,
    Workspace,
)
from heddle_tools_service.weather import Weather

Mode = Literal["augment", "function", "agent"]


CALLED: frozenset[Mode] = frozenset({"function", "agent"})
"""The modes in which a tool is called with arguments."""


_NO_RUN = TreeData()


ConfigT = TypeVar("ConfigT")


ArgumentsT = TypeVar("ArgumentsT", default=Any)


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
