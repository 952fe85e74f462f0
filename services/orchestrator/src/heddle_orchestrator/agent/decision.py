"""The interface of routers: what they receive and what they return."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.tools.bindings import BoundTool

TEXT_RESPONSE = "text_response"
SUMMARIZE = "summarize"
MAX_PARALLEL_CHOICES = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that is available now."""

    name: str
    """Unique in the run."""
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema (2020-12) of its arguments."""
    examples: Sequence[tuple[str, str]] = ()
    """Requests that suit the tool, each with the JSON text of its arguments."""
    bound: BoundTool | None = None
    """None for `text_response` and `summarize`."""
    function: str = ""
    """The name of the function in the tools service."""
    end: bool = False
    trigger: tuple[str, Mapping[str, Any]] | None = None
    """The cause and the inputs, if the tool must run now."""
    affinity: float | None = None
    """The similarity of the request to the tool, by the tools service. None if not computed."""
    shares_binding: bool = False
    """Whether its binding has more functions, as that of an MCP server."""
    ask: bool = False
    """Whether the user must confirm each run."""

    @property
    def tool(self) -> str:
        """The name in history and results: the tool's, or the function's if it shares a binding."""
        if self.bound is None:
            return self.name
        return self.function if self.shares_binding else self.bound.tool

    @property
    def declaration(self) -> chat_pb2.FunctionDeclaration:
        """The function declaration for a model."""
        return chat_pb2.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_schema_json=json.dumps(self.schema, ensure_ascii=False),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """A tool that the router has chosen, with its inputs."""

    tool: str
    """The candidate's name."""
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """The next step of a run."""

    choices: tuple[Choice, ...]
    """All run in parallel. Never empty."""
    reason: str
    """One sentence."""
    router: str
    rejected: str = ""
    """Why the choice of the assistant's router was rejected. Empty if it was not."""
    idle: bool = False
    """Whether the run answers because no tool was chosen. Such a decision is always valid."""

    @property
    def ends(self) -> bool:
        """Whether the run ends: the next step is the answer."""
        return any(choice.tool == TEXT_RESPONSE for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to a router."""

    text: str = ""
    calls: Sequence[chat_pb2.ToolCall] = ()
    logprobs_json: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """A router's question to a model."""

    messages: Sequence[chat_pb2.Message]
    functions: Sequence[chat_pb2.FunctionDeclaration] = ()
    max_tokens: int | None = None
    """The limit of the answer's tokens. None, as for the temperature: the provider's default."""
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members of the chat completion request that the contract does not have."""


AskModel = Callable[[Question], Awaitable[Answer]]
"""Sends one question to the assistant's model and counts its tokens."""


class Router(Protocol):
    """Chooses the next step of a run."""

    name: str
    uses_affinity: bool
    """Whether the tools service shall compute affinities for the first decision of a run."""

    async def decide(self, ask: AskModel, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose among `tools`, which are never empty.

        The decision is validated. If the router raises an error, the rules decide.
        """


class UndecidedError(Exception):
    """Raised by a router that reaches no valid choice. The message says why."""


def message(role: chat_pb2.Role.ValueType, text: str) -> chat_pb2.Message:
    """Return a text message."""
    return chat_pb2.Message(role=role, parts=[chat_pb2.ContentPart(text=text)])
