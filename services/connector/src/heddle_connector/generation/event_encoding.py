"""Encodes the events of connectors as messages of the contract."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, assert_never

import msgspec.structs
import structlog
from heddle.chat.v1 import chat_pb2 as chat
from heddle_runtime.contract.unicode_text import json_text

from heddle_connector.generation.events import (
    AnswerWarning,
    Done,
    Event,
    Logprobs,
    ReasoningDelta,
    TextDelta,
    ToolCall,
    Usage,
)

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer
    from heddle.connector.v1.connector_pb2 import GenerationEvent

log = structlog.get_logger(__name__)
_MAX_TOKENS = 10**9
"""In one answer. No model has a context of this size."""
_REASONS: dict[str, chat.FinishReason.ValueType] = {
    "stop": chat.FINISH_REASON_STOP,
    "length": chat.FINISH_REASON_LENGTH,
    "tool_calls": chat.FINISH_REASON_TOOL_CALLS,
    "content_filter": chat.FINISH_REASON_CONTENT_FILTER,
    "unknown": chat.FINISH_REASON_UNSPECIFIED,
}


def add_events(
    messages: "RepeatedCompositeFieldContainer[GenerationEvent]",
    events: Sequence[Event],
    substitute: str = "",
) -> None:
    """Append events to a response. They are built in place: a copy costs as much as an event.

    Args:
        messages: The events of the response.
        events: The events to append.
        substitute: The model that answers, as `connector/model`, if it is not the requested one.
    """
    for event in events:
        match event:
            case TextDelta():
                messages.add().text_delta = event.text
            case Done():
                _fill_done(messages.add().done, event, substitute)
            case ReasoningDelta():
                messages.add().reasoning_delta = event.text
            case ToolCall():
                call = messages.add().tool_call
                call.id, call.name = event.id, event.name
                call.arguments_json, call.extra_json = event.arguments, event.extra_json
            case AnswerWarning():
                messages.add().warning = event.text
            case Logprobs():
                messages.add(logprobs_json=event.json)
            case chat.GeneratedImage():
                messages.add(image=event)
            case _:
                assert_never(event)


def _fill_done(message: chat.Done, done: Done, substitute: str) -> None:
    message.finish_reason = _REASONS[done.finish_reason]
    message.model = done.model
    if substitute:
        message.substitute = substitute
    if metadata := done.provider_metadata:
        message.provider_metadata_json = json_text(metadata)
    if done.message_extra_json:
        message.message_extra_json = done.message_extra_json
    if done.usage is None:
        return
    if not _is_plausible(done.usage):
        log.warning("the provider's token counts are not plausible", usage=repr(done.usage)[:200])
        return
    usage = message.usage
    usage.prompt_tokens = done.usage.prompt_tokens
    usage.completion_tokens = done.usage.completion_tokens
    usage.cached_tokens = min(done.usage.cached_tokens, done.usage.prompt_tokens)
    usage.reasoning_tokens = min(done.usage.reasoning_tokens, done.usage.completion_tokens)


def _is_plausible(usage: Usage) -> bool:
    """Return whether token counts can be summed: a wrong count would corrupt budgets and quotas."""
    for count in msgspec.structs.astuple(usage):
        if not (isinstance(count, int) and 0 <= count <= _MAX_TOKENS):
            return False
    return True
