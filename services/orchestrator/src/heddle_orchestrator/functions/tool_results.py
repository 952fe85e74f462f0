"""The messages in which a model reads the results of its calls."""

import json
from collections.abc import Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb

from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.function_call import FunctionCall
from heddle_orchestrator.tools.sources import SentText, source_events

_NOTHING = "The function returned nothing."
_MAX_ECHO_CHARS = 300


def result_messages(
    text: str, extra_json: str, called: Sequence[BoundTool], max_chars: int
) -> list[chat_pb2.Message]:
    """Return the messages that a round adds to the conversation.

    Args:
        text: The text beside the calls.
        extra_json: More members of the provider's message.
        called: The calls with their outcomes.
        max_chars: The longest result.
    """
    calls = [each.call for each in called if each.call is not None]
    parts = [chat_pb2.ContentPart(text=text)] if text else []
    message = chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT,
        parts=parts,
        tool_calls=map(_with_valid_arguments, calls),
        extra_json=extra_json,
    )
    return [message, *(_result_message(each, max_chars) for each in called)]


def sent_sources(called: Sequence[BoundTool], max_chars: int) -> list[pb.RunEvent]:
    """Return the events of the sources whose texts are in the messages of `result_messages`."""
    return [
        event
        for each in called
        for event in source_events(
            [each], SentText(each.text[:max_chars]) if len(each.text) > max_chars else None
        )
    ]


def _result_message(called: BoundTool, max_chars: int) -> chat_pb2.Message:
    text = _failure(called) if called.error else called.text or _NOTHING
    if len(text) > max_chars:
        note = f"\n[cut: the first {max_chars} of {len(text)} characters]"
        text = text[:max_chars] + note
    return chat_pb2.Message(
        role=chat_pb2.ROLE_TOOL,
        parts=[chat_pb2.ContentPart(text=text)],
        tool_call_id=called.call.id if called.call else "",
    )


def _failure(called: BoundTool) -> str:
    failure = called.failure
    if failure is None:
        return _NOTHING
    error: dict[str, Any] = {"error": failure.message}
    if failure.violations:
        error["violations"] = [f"{each.field} {each.description}" for each in failure.violations]
    if kind := failure.metadata.get("kind"):
        error["kind"] = kind
    if details := failure.metadata.get("details_json"):
        error["details"] = json.loads(details)
    if called.call and called.call.arguments is None:
        error["you_wrote"] = called.call.proto.arguments_json[:_MAX_ECHO_CHARS]
    return json.dumps(error, ensure_ascii=False)


def _with_valid_arguments(call: FunctionCall) -> chat_pb2.ToolCall:
    """Return a call whose arguments are a JSON object.

    Many servers parse the arguments of earlier calls and fail on anything else.
    """
    if call.arguments is not None:
        return call.proto
    repaired = chat_pb2.ToolCall()
    repaired.CopyFrom(call.proto)
    repaired.arguments_json = "{}"
    return repaired
