"""Deciding by how near the request is to each tool, and by one word of the model where that ties.

For models that are too small to call functions. The tool service compares the request with what the
tools say of themselves; a tool whose inputs stand in the request is likelier than one whose inputs
do not. Where two tools are close, or nobody compared them, the model is asked: it reads what each
tool is for, some requests with the word of the tool that is right for them, and the request. How
likely it is to say each word next is compared with how likely it is to say it after a request that
asks for nothing, because a small model likes some words more than others. Then the inputs are
filled in. One step is all it decides: what comes after the first tool is for the rules.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.argument import evidence
from heddle_orchestrator.agent.decision import (
    Ask,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.inputs import filled_in
from heddle_orchestrator.agent.labels import Stranger, demonstrations, labels_of, scores, strangers
from heddle_orchestrator.agent.rules import decided, overlap
from heddle_orchestrator.agent.state import State

_TASK = "Answer with one word, the tool that fits the request."
_EMPTY_REQUESTS = ("N/A", "...", "Hello", "Please help me with this")
_WORDS_WEIGH = 4.0
"""What it is worth that a tool's words cover the whole request, in units of log-probability."""
_INPUTS_WEIGH = 2.0
"""What it is worth that the request holds an input, in the same units."""
_EVIDENCE_WEIGHS = 0.03
"""The same, in units of affinity."""
_CLEAR = 0.02
"""A lead in affinity that the model is not asked about. It is wrong more often than right then."""
_WORD_WEIGHS = 0.01
"""What a unit of log-probability is worth, in units of affinity."""
_MOST_SAID = 3.0
"""As much can a word be worth for or against a tool, in units of log-probability."""
_MOST_KNOWN = 256
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_Scores = Mapping[str, float]


class Label:
    """Asks for the probabilities of one token, with demonstrations out of the tools themselves."""

    name = "label"
    compares = True

    def __init__(self, most_probable: int, extra: Mapping[str, Any]) -> None:
        """Make a decider.

        Args:
            most_probable: Of how many tokens the provider tells the probabilities.
            extra: What else to tell it, as members of a chat completion's request.
        """
        self._extra = {"logprobs": True, "top_logprobs": most_probable, **extra}
        self._liked: dict[tuple[str, ...], _Scores] = {}

    async def decide(self, request: Ask, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose the first tool by its word, and what follows by the rules.

        Raises:
            UndecidedError: The provider tells no probabilities, or the model fills in nonsense.
        """
        bound = [tool for tool in tools if tool.bound is not None]
        if state.history or not bound:
            return decided(state, tools)
        chosen, reason = bound[0], "It is the only tool."
        if len(bound) > 1:
            chosen, reason = await self._chosen(request, state.prompt, bound)
        inputs = await filled_in(request, state.prompt, chosen)
        return Decision((Choice(chosen.name, inputs),), reason, self.name)

    async def _chosen(
        self, request: Ask, prompt: str, tools: Sequence[Candidate]
    ) -> tuple[Candidate, str]:
        points = _compared(prompt, tools)
        if points and _lead(points) >= _CLEAR:
            best = max(tools, key=lambda tool: points[tool.name])
            return best, f"It is nearest to the request, by {_lead(points):.3f}."
        labels = labels_of(tools)
        worth = await self._worth(request, prompt, tools, labels)
        if points:
            word = {name: _clipped(value) * _WORD_WEIGHS for name, value in worth.items()}
            points = {name: value + word[name] for name, value in points.items()}
        else:
            points = {
                tool.name: worth[tool.name]
                + _WORDS_WEIGH * overlap(prompt, tool)
                + _INPUTS_WEIGH * evidence(prompt, tool)
                for tool in tools
            }
        best = max(tools, key=lambda tool: points[tool.name])
        return best, f"Its word, {labels[best.name]!r}, fits best, {_lead(points):.3g} ahead."

    async def _worth(
        self, request: Ask, prompt: str, tools: Sequence[Candidate], labels: Mapping[str, str]
    ) -> _Scores:
        """Return how much likelier the request makes each tool's word than nothing does."""
        others = strangers(tools, labels)
        shown = [message(chat_pb2.ROLE_SYSTEM, _descriptions(tools, labels, others))]
        last = [(each.request, each.label) for each in others]
        for asked, label in [*demonstrations(tools, labels), *last]:
            shown += [message(_USER, asked), message(_MODEL, label)]
        liked = await self._likes(request, shown, labels)
        said = await self._scores(request, [*shown, message(_USER, prompt)], labels)
        return {name: said[name] - liked[name] for name in labels}

    async def _likes(
        self, request: Ask, shown: Sequence[chat_pb2.Message], labels: Mapping[str, str]
    ) -> _Scores:
        """Return how much the model likes each word where nothing speaks for any."""
        key = tuple(part.text for turn in shown for part in turn.parts)
        if (known := self._liked.get(key)) is not None:
            return known
        found = [
            await self._scores(request, [*shown, message(_USER, empty)], labels)
            for empty in _EMPTY_REQUESTS
        ]
        liked = {name: sum(each[name] for each in found) / len(found) for name in labels}
        while len(self._liked) >= _MOST_KNOWN:
            del self._liked[next(iter(self._liked))]
        self._liked[key] = liked
        return liked

    async def _scores(
        self, request: Ask, turns: Sequence[chat_pb2.Message], labels: Mapping[str, str]
    ) -> _Scores:
        answer = await request(Question(turns, max_tokens=1, temperature=0.0, extra=self._extra))
        found = scores(answer.logprobs_json, labels)
        if found is None:
            raise UndecidedError("The provider tells no log-probabilities.")
        return found


def _compared(prompt: str, tools: Sequence[Candidate]) -> dict[str, float]:
    """Return how near each tool is to a request; empty if that is not known of all of them."""
    return {
        tool.name: tool.affinity + _EVIDENCE_WEIGHS * evidence(prompt, tool)
        for tool in tools
        if tool.affinity is not None and all(each.affinity is not None for each in tools)
    }


def _lead(points: _Scores) -> float:
    best, second, *_ = sorted(points.values(), reverse=True)
    return best - second


def _clipped(value: float) -> float:
    return max(-_MOST_SAID, min(_MOST_SAID, value))


def _descriptions(
    tools: Sequence[Candidate], labels: Mapping[str, str], others: Sequence[Stranger]
) -> str:
    lines = [f"{each.label}: {each.description}" for each in others]
    lines += [f"{labels[tool.name]}: {tool.description}" for tool in tools]
    return "\n".join([_TASK, *lines])
