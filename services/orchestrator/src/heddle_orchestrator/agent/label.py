"""Deciding by one word, for models that are too small to call functions.

The model reads what each tool is for, some requests with the word of the tool that is right for
them, and the request. How likely it is to say each word next is compared with how likely it is to
say it after a request that asks for nothing, because a small model likes some words more than
others. Then it fills in the chosen tool's own schema. One step is all it decides: what comes after
the first tool is for the rules.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.agent.decision import (
    Ask,
    Candidate,
    Choice,
    Decision,
    Question,
    UndecidedError,
    message,
)
from heddle_orchestrator.agent.labels import Stranger, demonstrations, labels_of, scores, strangers
from heddle_orchestrator.agent.rules import decided, inputs_for, overlap
from heddle_orchestrator.agent.state import State

_TASK = "Answer with one word, the tool that fits the request."
_EMPTY_REQUESTS = ("N/A", "...", "Hello", "Please help me with this")
_WORDS_WEIGH = 4.0
"""What it is worth that a tool's words cover the whole request, in units of log-probability."""
_MOST_KNOWN = 256
_SHORTEST = 20
_LONGEST_INPUTS = 200
"""Tokens."""
_USER, _MODEL = chat_pb2.ROLE_USER, chat_pb2.ROLE_ASSISTANT
_Scores = Mapping[str, float]


class Label:
    """Asks for the probabilities of one token, with demonstrations out of the tools themselves."""

    name = "label"

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
        labels = labels_of(tools)
        others = strangers(tools, labels)
        shown = [message(chat_pb2.ROLE_SYSTEM, _descriptions(tools, labels, others))]
        last = [(each.request, each.label) for each in others]
        for asked, label in [*demonstrations(tools, labels), *last]:
            shown += [message(_USER, asked), message(_MODEL, label)]
        liked = await self._likes(request, shown, labels)
        said = await self._scores(request, [*shown, message(_USER, prompt)], labels)
        points = {
            tool.name: said[tool.name] - liked[tool.name] + _WORDS_WEIGH * overlap(prompt, tool)
            for tool in tools
        }
        best, second, *_ = sorted(tools, key=lambda tool: -points[tool.name])
        lead = points[best.name] - points[second.name]
        return best, f"Its word, {labels[best.name]!r}, fits best, {lead:.1f} ahead of the next."

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


async def filled_in(request: Ask, prompt: str, tool: Candidate) -> Mapping[str, Any]:
    """Return what a tool is called with, filled in by the model under the tool's own schema.

    Only what the tool needs and what its examples show is asked for: what is left out has its
    default, which is better than what a small model makes up.

    Raises:
        UndecidedError: The model writes something else.
    """
    examples = [(asked, _members(text)) for asked, text in tool.examples]
    wanted = _wanted(tool.schema, [shown for _, shown in examples], len(prompt))
    if not examples and (simple := inputs_for(tool, prompt)) is not None:
        return simple
    if not wanted["properties"]:
        return {}
    turns = [message(chat_pb2.ROLE_SYSTEM, _filling(tool))]
    for asked, shown in examples:
        turns += [message(_USER, asked), message(_MODEL, json.dumps(shown, ensure_ascii=False))]
    schema = {"name": "inputs", "schema": wanted, "strict": True}
    extra = {"response_format": {"type": "json_schema", "json_schema": schema}}
    question = Question(
        [*turns, message(_USER, prompt)],
        max_tokens=_LONGEST_INPUTS,
        temperature=0.0,
        extra=extra,
    )
    answer = await request(question)
    inputs = _members(answer.text)
    if not inputs and "query" in wanted["properties"]:  # any words will do
        inputs = dict(inputs_for(tool, prompt) or {})
    if not inputs:
        raise UndecidedError(f"The model fills in no inputs of {tool.name!r}.")
    return inputs


def _wanted(
    schema: Mapping[str, Any], shown: Sequence[Mapping[str, Any]], longest: int
) -> dict[str, Any]:
    """Return the schema of what is asked for, with an end to every text: small models ramble."""
    asked = {*schema.get("required", ()), *(name for each in shown for name in each)}
    properties = {
        name: _ended(each, longest)
        for name, each in schema.get("properties", {}).items()
        if name in asked
    }
    made = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return made | ({"$defs": schema["$defs"]} if "$defs" in schema else {})


def _ended(schema: Any, longest: int) -> Any:  # noqa: ANN401 - any JSON Schema
    if not isinstance(schema, dict) or schema.get("type") != "string" or "enum" in schema:
        return schema
    most = max(longest, schema.get("minLength", 0), _SHORTEST)
    return {**schema, "maxLength": min(most, schema.get("maxLength", most))}


def _descriptions(
    tools: Sequence[Candidate], labels: Mapping[str, str], others: Sequence[Stranger]
) -> str:
    lines = [f"{each.label}: {each.description}" for each in others]
    lines += [f"{labels[tool.name]}: {tool.description}" for tool in tools]
    return "\n".join([_TASK, *lines])


def _filling(tool: Candidate) -> str:
    return f"{tool.description} Write its inputs as JSON, with words of the request."


def _members(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}
