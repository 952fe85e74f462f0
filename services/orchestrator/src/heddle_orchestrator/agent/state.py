"""The state of one run: what is asked, what was tried, what was found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.frontend_payloads import written

from heddle_orchestrator.agent.environment import Environment
from heddle_orchestrator.prompt_processors.simple_augment import said


@dataclass(frozen=True, slots=True)
class Past:
    """A tool that ran."""

    tool: str
    inputs: Mapping[str, Any]
    new_objects: int
    failed: bool


@dataclass(slots=True)
class State:
    """Made for one run and dropped with it."""

    prompt: str
    """What the person asks, in the last message of the role user."""
    messages: Sequence[chat_pb2.Message] = ()
    """The conversation, that message included."""
    iterations: int = 0
    """How many decisions were carried out."""
    environment: Environment = field(default_factory=Environment)
    history: list[Past] = field(default_factory=list)
    fired: set[tuple[str, str]] = field(default_factory=set)
    """The triggers that have run a tool: its binding, and the cause."""
    summaries: int = 0
    """How often the environment was shortened."""

    def used(self, tool: str) -> bool:
        """Whether a tool has run, whatever came of it."""
        return any(past.tool == tool for past in self.history)

    def told(self) -> tool_pb2.TreeData:
        """Return a copy for tools."""
        return tool_pb2.TreeData(
            user_prompt=self.prompt,
            iterations=self.iterations,
            environment=self.environment.told(),
            history=[
                tool_pb2.PastRun(
                    tool=past.tool,
                    inputs_json=written(past.inputs),
                    new_objects=past.new_objects,
                    failed=past.failed,
                )
                for past in self.history
            ],
        )


def begun(messages: Sequence[chat_pb2.Message]) -> State:
    """Return the state of a run that answers a conversation."""
    asked = (said(each) for each in reversed(messages) if each.role == chat_pb2.ROLE_USER)
    return State(next(asked, ""), messages)
