"""The trace of a run, for the editor of an assistant."""

from typing import Annotated, Any, Literal

from heddle.orchestrator.v1.orchestrator_pb2 import Trace

from heddle_gateway.http.models import Model
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as


class TraceEvent(Model):
    """The trace of a run. In a stream it comes before the last chunk."""

    type: Literal["trace"] = "trace"
    data: Annotated[dict[str, Any], described_as(Trace.DESCRIPTOR)]


def trace_event(trace: Trace) -> dict[str, Any]:
    """Return a trace as an event for clients."""
    return {"type": "trace", "data": writer(Trace.DESCRIPTOR)(trace)}
