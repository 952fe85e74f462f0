"""A connector's events as those of the run."""

from collections.abc import Iterable

from heddle.connector.v1.connector_pb2 import GenerationEvent
from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent


def forwarded(events: Iterable[GenerationEvent]) -> list[RunEvent]:
    """Return the events of a connector as events of the run, without those of a newer contract."""
    return [made for event in events if (made := _forwarded(event))]


def _forwarded(event: GenerationEvent) -> RunEvent | None:
    match event.WhichOneof("event"):
        case "text_delta":
            return RunEvent(text_delta=event.text_delta)
        case "reasoning_delta":
            return RunEvent(reasoning_delta=event.reasoning_delta)
        case "tool_call":
            return RunEvent(tool_call=event.tool_call)
        case "done":
            return RunEvent(done=event.done)
        case "logprobs_json":
            return RunEvent(logprobs_json=event.logprobs_json)
        case None:  # an event of a newer contract
            return None
