"""Deciding without a model: by the selection matrix, and by words where it knows no tool."""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle_orchestrator.agent import matrix
from heddle_orchestrator.agent.decision import Ask, Candidate, Choice, Decision
from heddle_orchestrator.agent.matrix import ELSE, HYBRID, LOOK, PAGES, ROUTES, SEARCHES, Kind
from heddle_orchestrator.agent.policy import enough, respond
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.words import stems, telling, words

_QUERY = "query"
_OF_MATRIX = frozenset((*SEARCHES, LOOK))


class Rules:
    """The deterministic way, and what all others fall back to."""

    name = "rules"
    compares = False

    async def decide(self, request: Ask, state: State, tools: Sequence[Candidate]) -> Decision:
        """Choose by the matrix. Never fails."""
        return decided(state, tools)


def decided(state: State, tools: Sequence[Candidate]) -> Decision:
    """Return what the rules choose, `text_response` if nothing else is left."""
    bound = {each.tool: each for each in reversed(tools) if each.bound is not None}
    kind = matrix.kind_of(state.prompt)
    if found := _looked_at(kind, state, bound):
        return found
    if enough(state):
        return respond("What was found covers the request.", Rules.name)
    for tool in _route(kind, bound):
        if (chosen := bound.get(tool)) and not state.used(tool):
            why = f"The request {kind.value}." if not state.history else _next(tool)
            return _run(chosen, state.prompt, why)
    if found := _by_words(state, tools):
        return found
    if found := _once_more(state, bound):
        return found
    return respond("There is nothing else to try.", Rules.name)


def inputs_for(tool: Candidate, query: str) -> Mapping[str, Any] | None:
    """Return what a tool is called with to look for `query`; None if it needs to know more."""
    properties = tool.schema.get("properties", {})
    required = list(tool.schema.get("required", ()))
    if _QUERY in properties:
        return {_QUERY: query} if set(required) <= {_QUERY} else None
    if not required:
        return {}
    if len(required) == 1 and properties.get(required[0], {}).get("type") == "string":
        return {required[0]: query}
    return None


def _route(kind: Kind, bound: Mapping[str, Candidate]) -> Sequence[str]:
    """Return the searches to try: the matrix's, or any where an assistant has none of those."""
    own = ROUTES[kind]
    return (*own, *ELSE) if any(tool in bound for tool in own) else SEARCHES


def _looked_at(kind: Kind, state: State, bound: Mapping[str, Candidate]) -> Decision | None:
    look = bound.get(LOOK)
    if kind is not Kind.VISUAL or look is None or state.used(LOOK):
        return None
    if not any(state.environment.find(tool) for tool in (PAGES, HYBRID)):
        return None
    return _run(look, state.prompt, "Pages were found, and the request asks for what they show.")


def _next(tool: str) -> str:
    return f"The search so far does not cover the request, {tool} looks further."


def _by_words(state: State, tools: Sequence[Candidate]) -> Decision | None:
    """Choose among tools that the matrix does not know the one that shares most words."""
    unused = [
        each
        for each in tools
        if each.bound is not None
        and each.tool not in _OF_MATRIX
        and not state.used(each.tool)
        and inputs_for(each, state.prompt) is not None
    ]
    if not unused:
        return None
    best = max(unused, key=lambda each: overlap(state.prompt, each))
    if overlap(state.prompt, best) == 0.0 and (state.history or len(unused) < len(tools) - 1):
        return None
    return _run(best, state.prompt, "Its description shares most words with the request.")


def overlap(request: str, tool: Candidate) -> float:
    """Return how well the words of a tool's description and examples fit a request, 0 to 1."""
    wanted = stems(telling(request))
    if not wanted:
        return 0.0
    texts = [tool.description, tool.name.replace("_", " "), *(said for said, _ in tool.examples)]
    known = stems(word for text in texts for word in words(text))
    return len(wanted & known) / len(wanted)


def _once_more(state: State, bound: Mapping[str, Candidate]) -> Decision | None:
    """Search once more in other words, if something was searched and was not enough."""
    query = " ".join(telling(state.prompt))
    asked = {past.inputs.get(_QUERY) for past in state.history}
    if not query or query in asked or not any(past.tool in SEARCHES for past in state.history):
        return None
    for tool in SEARCHES:
        if (chosen := bound.get(tool)) and inputs_for(chosen, query):
            return _run(chosen, query, "Not enough was found, other words may find more.")
    return None


def _run(tool: Candidate, query: str, why: str) -> Decision:
    return Decision((Choice(tool.name, inputs_for(tool, query) or {}),), why, Rules.name)
