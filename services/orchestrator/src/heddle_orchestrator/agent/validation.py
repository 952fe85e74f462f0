"""Validates decisions: the tools must be available, and their inputs must fit their schemas."""

from collections.abc import Mapping, Sequence

from heddle_runtime.contract.frontend_payloads import written
from heddle_runtime.contract.json_schema import UncheckableError
from heddle_runtime.contract.json_text import members

from heddle_orchestrator.agent.decision import (
    MAX_PARALLEL_CHOICES,
    Candidate,
    Choice,
    Decision,
    UndecidedError,
)
from heddle_orchestrator.agent.repeat_detection import repetition
from heddle_orchestrator.agent.schema_cache import compiled
from heddle_orchestrator.agent.state import State

_MAX_NAME_CHARS = 80


def validated(decision: Decision, tools: Sequence[Candidate], state: State) -> Decision:
    """Return a decision with its valid choices only.

    A tool that ends the run is chosen only if no other choice is valid.

    Raises:
        UndecidedError: No choice is valid.
    """
    if decision.idle:
        return decision
    by_name = {each.name: each for each in tools}
    valid: list[Choice] = []
    first_problem = ""
    for each in decision.choices:
        choice = Choice(each.tool, members(written(dict(each.inputs))))
        problem = _problem(choice, by_name, state)
        if not problem and choice not in valid:
            valid.append(choice)
        first_problem = first_problem or problem
    if not valid:
        raise UndecidedError(first_problem or "Nothing was chosen.")
    continuing = [choice for choice in valid if not by_name[choice.tool].end]
    choices = tuple(continuing[:MAX_PARALLEL_CHOICES]) if continuing else (valid[0],)
    return Decision(choices, decision.reason, decision.router, decision.rejected)


def _problem(choice: Choice, by_name: Mapping[str, Candidate], state: State) -> str:
    """Return the fault of a choice, empty if there is none. The text omits the values of inputs."""
    tool = by_name.get(choice.tool)
    if tool is None:
        return f"{choice.tool[:_MAX_NAME_CHARS]!r} is not available now."
    schema = compiled(tool.schema)
    try:
        errors = schema.errors(dict(choice.inputs)) if schema else []
    except UncheckableError:
        return f"The inputs of {tool.name!r} cannot be checked."
    if errors:
        error = min(errors, key=lambda each: len(each.instance_path))
        place = ".".join(str(step)[:_MAX_NAME_CHARS] for step in error.instance_path)
        where = f" at {place}" if place else ""
        return f"The inputs of {tool.name!r} break the rule {error.kind.name!r}{where}."
    return repetition(state, tool.tool, choice.inputs) if tool.bound is not None else ""
