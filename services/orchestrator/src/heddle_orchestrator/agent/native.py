"""Deciding by function calls, for models that can."""

import json
from collections.abc import Sequence

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.brief import progress
from heddle_orchestrator.agent.decision import (
    MOST_AT_ONCE,
    TEXT_RESPONSE,
    Answer,
    Ask,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.state import State

_TASK = (
    "Decide what to do next for the person's last message. Call the function that finds what is "
    "missing; call several at once only if none needs what another finds. Do not repeat a call "
    f"that was made. When enough was found, or nothing needs to be found, call {TEXT_RESPONSE}. "
    "Do not answer yourself."
)
_MOST_CHARS = 12_000
_LONGEST_REASON = 300


class Native:
    """Offers the tools as functions and takes the calls."""

    name = "native"
    compares = False

    def __init__(self, most_tokens: int | None = None) -> None:
        """Make a decider. Some providers refuse `most_tokens`; None leaves it to them."""
        self._most_tokens = most_tokens

    async def decide(self, request: Ask, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose what the model calls; no call at all means that it would answer.

        Raises:
            UndecidedError: Its arguments are no JSON objects.
        """
        so_far = progress(state, _MOST_CHARS)
        task = f"{_TASK}\n\nSo far:\n{so_far}" if so_far else _TASK
        turns = [turn for turn in state.messages if turn.role in _SPOKEN and not turn.tool_calls]
        question = Question(
            [message(chat_pb2.ROLE_SYSTEM, task), *turns],
            [tool.declaration for tool in tools],
            max_tokens=self._most_tokens,
            extra={"tool_choice": "auto"},
        )
        answer = await request(question)
        if not answer.calls:
            why = "The model calls no tool."
            return Decision((Choice(TEXT_RESPONSE),), why, self.name, idle=True)
        choices = tuple(map(_choice, answer.calls[:MOST_AT_ONCE]))
        return Decision(choices, _reason(answer), self.name)


_SPOKEN = (chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT)


def _choice(call: chat_pb2.ToolCall) -> Choice:
    try:
        inputs = json.loads(call.arguments_json or "{}")
    except (ValueError, RecursionError):
        inputs = None
    if not isinstance(inputs, dict):
        raise UndecidedError(f"The inputs of {call.name[:80]!r} are no JSON object.")
    return Choice(call.name, inputs)


def _reason(answer: Answer) -> str:
    said = " ".join(answer.text.split())
    return said[:_LONGEST_REASON] if said else "The model calls it."
