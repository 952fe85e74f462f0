"""What a decider is given, and what it returns."""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.bindings import Bound

TEXT_RESPONSE = "text_response"
SUMMARIZE = "summarize"
MOST_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class Candidate:
    """A tool that can be chosen now."""

    name: str
    """Unique in the run."""
    description: str
    schema: Mapping[str, Any]
    """The JSON Schema (2020-12) of what it is called with."""
    examples: Sequence[tuple[str, str]] = ()
    """Requests that it is right for, and the text of what it is called with then."""
    bound: Bound | None = None
    """None for `text_response` and `summarize`."""
    function: str = ""
    """What the tool service calls it."""
    end: bool = False
    trigger: tuple[str, Mapping[str, Any]] | None = None
    """The cause and the inputs, if it must run now."""
    affinity: float | None = None
    """How near the request is to what it is for, by the tool service; None if nobody asked it."""

    @property
    def tool(self) -> str:
        """The tool's own name, as the selection matrix knows it."""
        return self.bound.tool if self.bound else self.name

    @property
    def declaration(self) -> chat_pb2.FunctionDeclaration:
        """The tool as models are told of functions."""
        return chat_pb2.FunctionDeclaration(
            name=self.name,
            description=self.description,
            parameters_schema_json=json.dumps(self.schema, ensure_ascii=False),
        )


@dataclass(frozen=True, slots=True)
class Choice:
    """One tool to run."""

    tool: str
    """The candidate's name."""
    inputs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do next."""

    choices: tuple[Choice, ...]
    """All at once. Never empty."""
    reason: str
    """One sentence."""
    decider: str
    rejected: str = ""
    """Why the choice of the assistant's decider was not taken. Empty if it was."""
    idle: bool = False
    """Whether it is to answer because no tool was chosen, which needs no tool to be there."""

    @property
    def ends(self) -> bool:
        """Whether it is to answer."""
        return any(choice.tool == TEXT_RESPONSE for choice in self.choices)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model said to whoever decides."""

    text: str = ""
    calls: Sequence[chat_pb2.ToolCall] = ()
    logprobs_json: str = ""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked by whoever decides."""

    messages: Sequence[chat_pb2.Message]
    functions: Sequence[chat_pb2.FunctionDeclaration] = ()
    max_tokens: int | None = None
    """None leaves it to the provider, like the temperature."""
    temperature: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Members of a chat completion's request beyond the contract."""


Ask = Callable[[Question], Awaitable[Answer]]
"""Asks the assistant's model once, and counts what that takes."""


class Decider(Protocol):
    """A way of choosing what to do next."""

    name: str
    compares: bool
    """Whether it wants to know the affinity of tools, when a run begins."""

    async def decide(self, request: Ask, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose among `tools`, which are never empty.

        What it returns is checked, and anything it raises makes the rules decide.
        """


class UndecidedError(Exception):
    """A decider comes to no choice that could be carried out. The message says why."""


def message(role: chat_pb2.Role.ValueType, text: str) -> chat_pb2.Message:
    """Return a turn of a conversation with a model that decides."""
    return chat_pb2.Message(role=role, parts=[chat_pb2.ContentPart(text=text)])
