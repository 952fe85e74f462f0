"""Maps the events of a connector to the events of a run."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
    from heddle.connector.v1.connector_pb2 import GenerationEvent
    from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent

    EventList = RepeatedCompositeFieldContainer[RunEvent]


def map_events(events: "Iterable[GenerationEvent]", run: "EventList") -> bool:
    """Add a connector's events to those of the run, and return whether `done` is the last.

    The events are created in the list, because copying an event costs as much as creating it.
    Unknown events of a newer contract are skipped.
    """
    done = False
    for event in events:
        kind = event.WhichOneof("event")
        match kind:
            case "text_delta":
                run.add().text_delta = event.text_delta
            case "reasoning_delta" | "logprobs_json" | "warning":
                setattr(run.add(), kind, getattr(event, kind))
            case "tool_call" | "done" | "model_replaced" | "image":
                getattr(run.add(), kind).CopyFrom(getattr(event, kind))
            case None:
                continue
        done = kind == "done"
    return done
