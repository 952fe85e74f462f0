"""The span of a decision."""

from contextlib import AbstractContextManager

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle_runtime.telemetry import spans

from heddle_orchestrator.agent.decision import Decision
from heddle_orchestrator.agent.state import State


def decision_span() -> AbstractContextManager[None]:
    """Return the span of the block that decides."""
    return spans.span("plan", attributes=_plan)


def describe_decision(decision: Decision, assistant: Assistant, state: State) -> None:
    """Add a decision to its span."""
    if not spans.is_drawn():
        return
    known: dict[str, spans.Value] = {
        "heddle.decision.iteration": state.iterations + 1,
        "heddle.decision.decider": decision.router,
        "heddle.decision.tools": [choice.tool for choice in decision.choices],
        "heddle.decision.rejected": bool(decision.rejected),
    }
    spans.annotate(lambda: known, f"plan {assistant.id or 'unsaved'}")


def _plan() -> spans.Attributes:
    return {"gen_ai.operation.name": "plan"}
