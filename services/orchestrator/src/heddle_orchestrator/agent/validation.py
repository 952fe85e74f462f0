"""Checking a choice against the tools that are there: what a model chooses is never trusted."""

from collections.abc import Sequence

from heddle_runtime.frontend_payloads import written
from heddle_runtime.json_schema import UncheckableError

from heddle_orchestrator.agent.decision import (
    MOST_AT_ONCE,
    Candidate,
    Choice,
    Decision,
    UndecidedError,
)
from heddle_orchestrator.agent.environment import members
from heddle_orchestrator.agent.guard import RepeatGuard
from heddle_orchestrator.agent.schemas import compiled

_LONGEST = 80


def checked(decision: Decision, tools: Sequence[Candidate], guard: RepeatGuard) -> Decision:
    """Return a decision with what of it can be carried out.

    One tool that ends the run goes alone, and only if nothing else was chosen beside it.

    Raises:
        UndecidedError: Nothing of it can.
    """
    if decision.idle:
        return decision
    known = {each.name: each for each in tools}
    kept: list[Choice] = []
    wrong = ""
    for made in decision.choices:
        choice = Choice(made.tool, members(written(dict(made.inputs))))
        problem = _problem(choice, known, guard)
        if not problem and choice not in kept:
            kept.append(choice)
        wrong = wrong or problem
    if not kept:
        raise UndecidedError(wrong or "Nothing was chosen.")
    running = [choice for choice in kept if not known[choice.tool].end]
    chosen = tuple(running[:MOST_AT_ONCE]) if running else (kept[0],)
    return Decision(chosen, decision.reason, decision.decider, decision.rejected)


def _problem(choice: Choice, known: dict[str, Candidate], guard: RepeatGuard) -> str:
    """Return what is wrong with a choice, without its values: a model made them up."""
    tool = known.get(choice.tool)
    if tool is None:
        return f"{choice.tool[:_LONGEST]!r} is not available now."
    schema = compiled(tool.schema)
    try:
        errors = schema.errors(dict(choice.inputs)) if schema else []
    except UncheckableError:
        return f"The inputs of {tool.name!r} cannot be checked."
    if errors:
        error = min(errors, key=lambda each: len(each.instance_path))
        place = ".".join(str(step)[:_LONGEST] for step in error.instance_path)
        where = f" at {place}" if place else ""
        return f"The inputs of {tool.name!r} break the rule {error.kind.name!r}{where}."
    return guard.refuses(tool.tool, choice.inputs) if tool.bound is not None else ""
