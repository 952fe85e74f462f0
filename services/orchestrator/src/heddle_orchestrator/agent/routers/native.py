"""The router `native`: the model chooses by calling functions."""

import json
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.context_builder import progress
from heddle_orchestrator.agent.decision import (
    MAX_PARALLEL_CHOICES,
    TEXT_RESPONSE,
    AskModel,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.routers.arguments import arguments_for
from heddle_orchestrator.agent.state import State

_TASK = (
    "Decide what to do next for the person's last message. Call the function that finds what is "
    "missing; call several at once only if none needs what another finds. Do not repeat a call "
    f"that was made. When enough was found, or nothing needs to be found, call {TEXT_RESPONSE}. "
    "Do not answer yourself."
)
_MAX_PROGRESS_CHARS = 12_000
_MAX_REASON_CHARS = 300
_MAX_NAME_CHARS = 80
_CONVERSATION_ROLES = (chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT)


@dataclass(eq=False, slots=True)
class NativeRouter:
    """Declares the tools as functions and reads the model's calls."""

    name = "native"
    uses_affinity = False

    max_tokens: int | None = None
    """Some providers reject this option; None leaves it to them."""
    _: KW_ONLY
    writes_arguments: bool = True
    """Whether the model's arguments are used. A small model invents words."""

    async def decide(self, ask: AskModel, state: State, tools: Sequence[Candidate]) -> Decision:
        """Return the tools that the model calls. Without any call the run answers.

        Raises:
            UndecidedError: The arguments of a call are not a JSON object, or the model writes none.
        """
        so_far = progress(state, _MAX_PROGRESS_CHARS)
        task = f"{_TASK}\n\nSo far:\n{so_far}" if so_far else _TASK
        conversation = [
            each
            for each in state.messages
            if each.role in _CONVERSATION_ROLES and not each.tool_calls
        ]
        question = Question(
            [message(chat_pb2.ROLE_SYSTEM, task), *conversation],
            [tool.declaration for tool in tools],
            max_tokens=self.max_tokens,
            extra={"tool_choice": "auto"},
        )
        answer = await ask(question)
        if not answer.calls:
            reason = "The model calls no tool."
            return Decision((Choice(TEXT_RESPONSE),), reason, self.name, idle=True)
        calls = answer.calls[:MAX_PARALLEL_CHOICES]
        if self.writes_arguments:
            choices = tuple(map(_choice, calls))
        else:
            choices = tuple([await _constrained(ask, state, tools, each.name) for each in calls])
        reason = " ".join(answer.text.split())[:_MAX_REASON_CHARS]
        return Decision(choices, reason or "The model calls it.", self.name)


async def _constrained(
    ask: AskModel, state: State, tools: Sequence[Candidate], name: str
) -> Choice:
    """Return the choice of a tool with arguments out of the conversation."""
    tool = next((each for each in tools if each.name == name and each.bound is not None), None)
    return Choice(name, await arguments_for(ask, state, tool) if tool else {})


def _choice(call: chat_pb2.ToolCall) -> Choice:
    try:
        inputs = json.loads(call.arguments_json or "{}")
    except (ValueError, RecursionError):
        inputs = None
    if not isinstance(inputs, dict):
        name = call.name[:_MAX_NAME_CHARS]
        raise UndecidedError(f"The inputs of {name!r} are no JSON object.")
    return Choice(call.name, inputs)
