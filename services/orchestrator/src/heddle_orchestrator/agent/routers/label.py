"""The router `label`: affinities choose the tool, and log-probabilities where two tools are close.

For models that are too small to call functions. The tools service computes how similar the request
is to each tool. If the best two tools are close, or there are no affinities, the model is asked: it
reads the description of each tool, example requests with the label of the right tool, and the
request. The log-probability of each label as the next token is compared with its log-probability
after requests without content, because a small model prefers some words. The router decides the
first step only; the rules decide the next ones.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.decision import (
    AskModel,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.routers.arguments import arguments_for
from heddle_orchestrator.agent.routers.mentioned_values import fill_evidence
from heddle_orchestrator.agent.routers.rules import decide_by_rules, word_overlap
from heddle_orchestrator.agent.routers.tool_labels import (
    Distractor,
    demonstrations,
    distractors,
    label_logprobs,
    labels_of,
)
from heddle_orchestrator.agent.state import State

_TASK = "Answer with one word, the tool that fits the request."
_EMPTY_REQUESTS = ("N/A", "...", "Hello", "Please help me with this")
_OVERLAP_WEIGHT = 4.0
"""The weight, in log-probability, of a tool whose words cover the whole request."""
_CLEAR_LEAD = 0.02
"""The lead in affinity from which the affinity is right more often than the model."""
_EVIDENCE_WEIGHT = 0.02
"""The affinity that a tool gains if the question contains all values that it requires, or loses if
it contains none."""
_LOGPROB_WEIGHT = 0.01
"""The affinity that one unit of log-probability is worth."""
_MAX_LOGPROB = 3.0
"""The largest influence of a label, in units of log-probability."""
_MAX_BASELINES = 256
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_Scores = Mapping[str, float]


class LabelRouter:
    """Asks for the log-probabilities of one token, with demonstrations from the tools' examples."""

    name = "label"
    uses_affinity = True

    def __init__(self, top_logprobs: int, extra: Mapping[str, Any]) -> None:
        """Create a router.

        Args:
            top_logprobs: The number of tokens whose log-probabilities the provider returns.
            extra: More members of the chat completion request.
        """
        self._extra = {"logprobs": True, "top_logprobs": top_logprobs, **extra}
        self._baselines: dict[tuple[str, ...], _Scores] = {}

    async def decide(self, ask: AskModel, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose the first tool by its label, and the next ones by the rules.

        Raises:
            UndecidedError: The provider returns no log-probabilities, or the model writes no
                arguments.
        """
        bound = [tool for tool in tools if tool.bound is not None]
        if state.history or not bound:
            return decide_by_rules(state, tools)
        tool, reason = bound[0], "It is the only tool."
        if len(bound) > 1:
            tool, reason = await self._choose(ask, state.query, bound)
        arguments = await arguments_for(ask, state, tool)
        return Decision((Choice(tool.name, arguments),), reason, self.name)

    async def _choose(
        self, ask: AskModel, prompt: str, tools: Sequence[Candidate]
    ) -> tuple[Candidate, str]:
        evidence = {tool.name: fill_evidence(prompt, tool) * _EVIDENCE_WEIGHT for tool in tools}
        scores = {name: each + evidence[name] for name, each in _affinities(tools).items()}
        if scores and _lead(scores) >= _CLEAR_LEAD:
            best = max(tools, key=lambda tool: scores[tool.name])
            return best, f"It is the most similar to the request, by {_lead(scores):.3f}."
        labels = labels_of(tools)
        logprobs = await self._calibrated_logprobs(ask, prompt, tools, labels)
        if scores:
            scores = {
                name: affinity
                + max(-_MAX_LOGPROB, min(_MAX_LOGPROB, logprobs[name])) * _LOGPROB_WEIGHT
                for name, affinity in scores.items()
            }
        else:
            scores = {
                tool.name: logprobs[tool.name] + _OVERLAP_WEIGHT * word_overlap(prompt, tool)
                for tool in tools
            }
        best = max(tools, key=lambda tool: scores[tool.name])
        return best, f"Its label, {labels[best.name]!r}, fits best, {_lead(scores):.3g} ahead."

    async def _calibrated_logprobs(
        self, ask: AskModel, prompt: str, tools: Sequence[Candidate], labels: Mapping[str, str]
    ) -> _Scores:
        """Return by how much the request raises the log-probability of each tool's label."""
        extra_tools = distractors(tools, labels)
        messages = [message(chat_pb2.ROLE_SYSTEM, _descriptions(tools, labels, extra_tools))]
        last = [(each.request, each.label) for each in extra_tools]
        for request, label in [*demonstrations(tools, labels), *last]:
            messages += [message(_USER, request), message(_MODEL, label)]
        baseline = await self._baseline(ask, messages, labels)
        logprobs = await self._logprobs(ask, [*messages, message(_USER, prompt)], labels)
        return {name: logprobs[name] - baseline[name] for name in labels}

    async def _baseline(
        self, ask: AskModel, messages: Sequence[chat_pb2.Message], labels: Mapping[str, str]
    ) -> _Scores:
        """Return the mean log-probability of each label after requests without content."""
        key = tuple(part.text for each in messages for part in each.parts)
        if (known := self._baselines.get(key)) is not None:
            return known
        samples = [
            await self._logprobs(ask, [*messages, message(_USER, empty)], labels)
            for empty in _EMPTY_REQUESTS
        ]
        baseline = {name: sum(each[name] for each in samples) / len(samples) for name in labels}
        while len(self._baselines) >= _MAX_BASELINES:
            del self._baselines[next(iter(self._baselines))]
        self._baselines[key] = baseline
        return baseline

    async def _logprobs(
        self, ask: AskModel, messages: Sequence[chat_pb2.Message], labels: Mapping[str, str]
    ) -> _Scores:
        question = Question(messages, max_tokens=1, temperature=0.0, extra=self._extra)
        logprobs = label_logprobs((await ask(question)).logprobs_json, labels)
        if logprobs is None:
            raise UndecidedError("The provider returns no log-probabilities.")
        return logprobs


def _affinities(tools: Sequence[Candidate]) -> dict[str, float]:
    """Return the affinity of each tool; empty if a tool has none."""
    affinities = {tool.name: tool.affinity for tool in tools if tool.affinity is not None}
    return affinities if len(affinities) == len(tools) else {}


def _lead(scores: _Scores) -> float:
    best, second, *_ = sorted(scores.values(), reverse=True)
    return best - second


def _descriptions(
    tools: Sequence[Candidate], labels: Mapping[str, str], extra_tools: Sequence[Distractor]
) -> str:
    lines = [f"{each.label}: {each.description}" for each in extra_tools]
    lines += [f"{labels[tool.name]}: {tool.description}" for tool in tools]
    return "\n".join([_TASK, *lines])
