"""Events of connectors in the form of the contract."""

from collections.abc import Sequence
from typing import assert_never

import msgspec
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb

from heddle_connector.events import (
    Done,
    Event,
    Logprobs,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)

_REASONS: dict[str, chat.FinishReason.ValueType] = {
    "stop": chat.FINISH_REASON_STOP,
    "length": chat.FINISH_REASON_LENGTH,
    "tool_calls": chat.FINISH_REASON_TOOL_CALLS,
    "content_filter": chat.FINISH_REASON_CONTENT_FILTER,
    "unknown": chat.FINISH_REASON_UNSPECIFIED,
}


def to_events(events: Sequence[Event], substitute: str = "") -> list[pb.GenerationEvent]:
    """Return `events` in the form of the contract.

    Args:
        events: What happened.
        substitute: The model that made them, as `connector/model`, if another one was asked for.
    """
    return [
        # nearly all of them are text: the shortest way for those
        pb.GenerationEvent(text_delta=event.text)
        if type(event) is TextDelta
        else _event(event, substitute)
        for event in events
    ]


def _event(event: Event, substitute: str) -> pb.GenerationEvent:
    match event:
        case TextDelta():
            return pb.GenerationEvent(text_delta=event.text)
        case ReasoningDelta():
            return pb.GenerationEvent(reasoning_delta=event.text)
        case ToolCall():
            call = chat.ToolCall(id=event.id, name=event.name, arguments_json=event.arguments)
            return pb.GenerationEvent(tool_call=call)
        case Logprobs():
            return pb.GenerationEvent(logprobs_json=event.json)
        case Done():
            return pb.GenerationEvent(done=_done(event, substitute))
        case _:
            assert_never(event)


def _done(done: Done, substitute: str) -> chat.Done:
    metadata = done.provider_metadata
    return chat.Done(
        finish_reason=_REASONS[done.finish_reason],
        usage=_usage(done.usage) if done.usage is not None else None,
        model=done.model,
        provider_metadata_json=msgspec.json.encode(metadata).decode() if metadata else "",
        substitute=substitute,
    )


def _usage(usage: Usage) -> chat.Usage:
    return chat.Usage(
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        cached_tokens=usage.cached_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )
