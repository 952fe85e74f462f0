"""Events of connectors in the form of the contract."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec
from heddle.chat.v1 import chat_pb2 as chat

from heddle_connector.generation.events import (
    Done,
    Event,
    Logprobs,
    Picture,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
    from heddle.connector.v1.connector_pb2 import GenerationEvent

_REASONS: dict[str, chat.FinishReason.ValueType] = {
    "stop": chat.FINISH_REASON_STOP,
    "length": chat.FINISH_REASON_LENGTH,
    "tool_calls": chat.FINISH_REASON_TOOL_CALLS,
    "content_filter": chat.FINISH_REASON_CONTENT_FILTER,
    "unknown": chat.FINISH_REASON_UNSPECIFIED,
}


def add_events(
    made: "RepeatedCompositeFieldContainer[GenerationEvent]",
    events: Sequence[Event],
    substitute: str = "",
) -> None:
    """Add events to a response; made where they stand, as each copy costs as much as an event.

    Args:
        made: The events of the response.
        events: What happened.
        substitute: The model that made them, as `connector/model`, if another one was asked for.
    """
    for event in events:
        match event:
            case TextDelta():
                made.add().text_delta = event.text
            case Done():
                _fill_done(made.add().done, event, substitute)
            case ReasoningDelta():
                made.add().reasoning_delta = event.text
            case ToolCall():
                call = made.add().tool_call
                call.id, call.name = event.id, event.name
                call.arguments_json, call.extra_json = event.arguments, event.extra_json
            case Logprobs():
                made.add(logprobs_json=event.json)
            case Picture():
                made.add(picture=to_picture(event))
            case _:
                assert_never(event)


def to_picture(kept: Picture) -> chat.Picture:
    """Return a picture in the form of the contract."""
    return chat.Picture(name=kept.name, media_type=kept.media_type, data=kept.data)


def _fill_done(made: chat.Done, done: Done, substitute: str) -> None:
    made.finish_reason = _REASONS[done.finish_reason]
    made.model = done.model
    if substitute:
        made.substitute = substitute
    if metadata := done.provider_metadata:
        made.provider_metadata_json = msgspec.json.encode(metadata).decode()
    if done.message_extra_json:
        made.message_extra_json = done.message_extra_json
    if done.usage is not None:
        usage = made.usage
        usage.prompt_tokens = done.usage.prompt_tokens
        usage.completion_tokens = done.usage.completion_tokens
        usage.cached_tokens = done.usage.cached_tokens
        usage.reasoning_tokens = done.usage.reasoning_tokens
