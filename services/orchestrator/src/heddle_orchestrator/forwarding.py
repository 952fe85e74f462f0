"""A connector's events as those of the run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
    from heddle.connector.v1.connector_pb2 import GenerationEvent
    from heddle.orchestrator.v1.orchestrator_pb2 import RunEvent

    Events = RepeatedCompositeFieldContainer[RunEvent]


def forward(events: "Iterable[GenerationEvent]", run: "Events") -> bool:
    """Add a connector's events to those of the run, and return whether `done` is the last.

    They are made where they stand, as each copy costs as much as an event. What a newer contract
    knows is left out.
    """
    done = False
    for event in events:
        kind = event.WhichOneof("event")
        match kind:
            case "text_delta":
                run.add().text_delta = event.text_delta
            case "reasoning_delta":
                run.add().reasoning_delta = event.reasoning_delta
            case "tool_call":
                run.add(tool_call=event.tool_call)
            case "done":
                run.add().done.CopyFrom(event.done)
            case "logprobs_json":
                run.add(logprobs_json=event.logprobs_json)
            case "model_replaced":
                run.add(model_replaced=event.model_replaced)
            case "picture":
                run.add().picture.CopyFrom(event.picture)
            case None:
                continue
        done = kind == "done"
    return done
