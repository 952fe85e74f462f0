"""The router `rules`: the selection matrix, or shared words for tools that it does not know."""

from collections.abc import Mapping, Sequence
from typing import Any

from heddle_orchestrator.agent.decision import AskModel, Candidate, Choice, Decision
from heddle_orchestrator.agent.policy import enough, respond
from heddle_orchestrator.agent.routers import selection_matrix
from heddle_orchestrator.agent.routers.selection_matrix import (
    FALLBACK_SEARCHES,
    HYBRID,
    PAGES,
    ROUTES,
    SEARCHES,
    VISUAL_INTERPRETATION,
    Kind,
)
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.word_matching import content_words, coverage

_QUERY = "query"
_MATRIX_TOOLS = frozenset((*SEARCHES, VISUAL_INTERPRETATION))


class RulesRouter:
    """Decides without a model. All other routers fall back to it."""

    name = "rules"
    uses_affinity = False

    async def decide(self, ask: AskModel, state: State, tools: Sequence[Candidate]) -> Decision:
        """Return the decision of the rules. Never fails."""
        return decide_by_rules(state, tools)


def decide_by_rules(state: State, tools: Sequence[Candidate]) -> Decision:
    """Return the decision of the rules, `text_response` if no tool is left to try."""
    by_tool = {each.tool: each for each in reversed(tools) if each.bound is not None}
    kind = selection_matrix.kind_of(state.prompt)
    if decision := _interpret_page(kind, state, by_tool):
        return decision
    if enough(state):
        return respond("The results cover the request.", RulesRouter.name)
    for tool in _route(kind, by_tool):
        if (candidate := by_tool.get(tool)) and not state.used(tool):
            if inputs_for(candidate, state.query) is None:
                continue
            reason = f"The request {kind.value}." if not state.history else _fallback_reason(tool)
            return _run(candidate, state.query, reason)
    if decision := _choose_by_words(state, tools):
        return decision
    if decision := _search_again(state, by_tool):
        return decision
    return respond("There is nothing else to try.", RulesRouter.name)


def inputs_for(tool: Candidate, query: str) -> Mapping[str, Any] | None:
    """Return the inputs that pass `query` to a tool; None if the tool requires other inputs."""
    properties = tool.schema.get("properties", {})
    required = list(tool.schema.get("required", ()))
    if _QUERY in properties:
        return {_QUERY: query} if set(required) <= {_QUERY} else None
    if not required:
        return {}
    if len(required) == 1 and properties.get(required[0], {}).get("type") == "string":
        return {required[0]: query}
    return None


def _route(kind: Kind, by_tool: Mapping[str, Candidate]) -> Sequence[str]:
    """Return the searches to try: the matrix's, or any if the assistant has none of those."""
    route = ROUTES[kind]
    return (*route, *FALLBACK_SEARCHES) if any(tool in by_tool for tool in route) else SEARCHES


def _interpret_page(kind: Kind, state: State, by_tool: Mapping[str, Candidate]) -> Decision | None:
    candidate = by_tool.get(VISUAL_INTERPRETATION)
    if kind is not Kind.VISUAL or candidate is None or state.used(VISUAL_INTERPRETATION):
        return None
    if not any(state.environment.find(tool) for tool in (PAGES, HYBRID)):
        return None
    return _run(candidate, state.query, "Pages are available, and the request is about them.")


def _fallback_reason(tool: str) -> str:
    return f"The results do not cover the request, {tool} searches further."


def _choose_by_words(state: State, tools: Sequence[Candidate]) -> Decision | None:
    """Choose, among tools that the matrix does not know, the one that shares most words."""
    unused = [
        each
        for each in tools
        if each.bound is not None
        and each.tool not in _MATRIX_TOOLS
        and not state.used(each.tool)
        and inputs_for(each, state.query) is not None
    ]
    if not unused:
        return None
    best = max(unused, key=lambda each: word_overlap(state.query, each))
    no_overlap = word_overlap(state.query, best) == 0.0
    if no_overlap and (state.history or len(unused) < len(tools) - 1):
        return None
    return _run(best, state.query, "Its description shares most words with the request.")


def word_overlap(request: str, tool: Candidate) -> float:
    """Return the share of a request's words, 0 to 1, in a tool's description and examples."""
    if not content_words(request):
        return 0.0
    texts = [tool.description, tool.name.replace("_", " "), *(text for text, _ in tool.examples)]
    return coverage(request, "\n".join(texts))


def _search_again(state: State, by_tool: Mapping[str, Candidate]) -> Decision | None:
    """Repeat a search with the content words only, if searches were not enough."""
    query = " ".join(content_words(state.query))
    queries = {past.inputs.get(_QUERY) for past in state.history}
    if not query or query in queries or not any(past.tool in SEARCHES for past in state.history):
        return None
    hopeless = {tool for tool, error in state.environment.errors.items() if not error.recoverable}
    for tool in SEARCHES:
        if tool in hopeless:
            continue
        if (candidate := by_tool.get(tool)) and inputs_for(candidate, query):
            return _run(candidate, query, "The results are not enough, other words may find more.")
    return None


def _run(tool: Candidate, query: str, reason: str) -> Decision:
    choice = Choice(tool.name, inputs_for(tool, query) or {})
    return Decision((choice,), reason, RulesRouter.name)
