"""Translates the trace of a run for clients."""

import re
from typing import Any, cast

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.struct_codec import from_struct

from heddle_gateway.openai.chat.trace_schema import (
    Kind,
    Trace,
    TraceCall,
    TraceError,
    TraceEvent,
    TraceMessage,
    TraceRange,
    TraceSlot,
    TraceSource,
    TraceStep,
    TraceUsage,
)

_PAGE_IMAGE = re.compile(r"/v1/vector_stores/[\w-]+/files/[\w-]+/pages/\d+", re.ASCII)
_MICROS = 1_000_000
_NANOS = 1_000_000_000


def trace_event(trace: pb.Trace) -> dict[str, Any]:
    """Return a trace as an event for clients."""
    data = Trace(
        has_texts=trace.has_texts,
        steps=[_step(each) for each in trace.steps],
        slots=[_slot(each) for each in trace.slots],
        prompt=[_message(each) for each in trace.prompt],
    )
    return TraceEvent(data=data).model_dump()


def _step(step: pb.Trace.Step) -> TraceStep:
    kind = pb.Trace.StepKind.Name(step.kind).removeprefix("STEP_KIND_").lower()
    failed = step.error_reason or step.error_message
    error = TraceError(reason=step.error_reason, message=step.error_message) if failed else None
    return TraceStep.of(
        step,
        kind=cast("Kind", kind),
        start=step.start.ToNanoseconds() / _NANOS if step.HasField("start") else None,
        seconds=step.elapsed.ToNanoseconds() / _NANOS,
        binding=step.binding_id or None,
        tool=step.tool or None,
        slot=step.slot or None,
        call_id=step.call_id or None,
        input=from_struct(step.input),
        error=error,
        model=step.model or None,
        usage=TraceUsage.of(step.usage) if step.HasField("usage") else None,
        cost_usd=step.cost_micros / _MICROS if step.HasField("cost_micros") else None,
        sources=[_source(each) for each in step.sources],
    )


def _source(source: tool_pb2.Source) -> TraceSource:
    page, image = (source.attributes.get(name, "") for name in ("page", "picture_uri"))
    return TraceSource.of(
        source,
        page=int(page) if page.isascii() and page.isdecimal() else None,
        # A tool chooses its attributes: nothing else is shown as an address of the gateway.
        page_image=image if _PAGE_IMAGE.fullmatch(image) else None,
    )


def _slot(insertion: pb.Trace.Insertion) -> TraceSlot:
    return TraceSlot.of(
        insertion,
        slot=insertion.slot or None,
        step=insertion.step if insertion.HasField("step") else None,
        tool=insertion.tool or None,
        ranges=[TraceRange.of(each) for each in insertion.ranges],
    )


def _message(message: chat_pb2.Message) -> TraceMessage:
    role = chat_pb2.Role.Name(message.role).removeprefix("ROLE_").lower()
    return TraceMessage.model_validate(
        {
            "role": role,
            "parts": [part.text for part in message.parts],
            "tool_calls": [
                TraceCall(id=call.id, name=call.name, arguments=call.arguments_json)
                for call in message.tool_calls
            ],
            "tool_call_id": message.tool_call_id or None,
        }
    )
