"""What a model reads of its calls."""

import json
from collections.abc import Sequence
from typing import Any

from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.call import Call

_NOTHING = "The function returned nothing."
_LONGEST_ECHO = 300


def conversation(
    text: str, extra_json: str, called: Sequence[Bound], most_chars: int
) -> list[chat_pb2.Message]:
    """Return the turns that a round adds to the conversation.

    Args:
        text: What the model said beside its calls.
        extra_json: What else its provider put into the message.
        called: The calls and what became of them.
        most_chars: How long a reply may be.
    """
    calls = [each.call for each in called if each.call is not None]
    parts = [chat_pb2.ContentPart(text=text)] if text else []
    turn = chat_pb2.Message(
        role=chat_pb2.ROLE_ASSISTANT,
        parts=parts,
        tool_calls=map(_harmless, calls),
        extra_json=extra_json,
    )
    return [turn, *(_reply(each, most_chars) for each in called)]


def _reply(called: Bound, most_chars: int) -> chat_pb2.Message:
    text = _failure(called) if called.error else called.text or _NOTHING
    if len(text) > most_chars:
        cut = f"\n[cut: the first {most_chars} of {len(text)} characters]"
        text = text[:most_chars] + cut
    return chat_pb2.Message(
        role=chat_pb2.ROLE_TOOL,
        parts=[chat_pb2.ContentPart(text=text)],
        tool_call_id=called.call.id if called.call else "",
    )


def _failure(called: Bound) -> str:
    failure = called.failure
    if failure is None:
        return _NOTHING
    told: dict[str, Any] = {"error": failure.message}
    if failure.violations:
        told["violations"] = [f"{each.field} {each.description}" for each in failure.violations]
    if kind := failure.metadata.get("kind"):
        told["kind"] = kind
    if details := failure.metadata.get("details_json"):
        told["details"] = json.loads(details)
    if called.call and called.call.arguments is None:
        told["you_wrote"] = called.call.told.arguments_json[:_LONGEST_ECHO]
    return json.dumps(told, ensure_ascii=False)


def _harmless(call: Call) -> chat_pb2.ToolCall:
    """Return a call as the model may read it again.

    Many servers parse the arguments of earlier calls and fail on what is no JSON object.
    """
    if call.arguments is not None:
        return call.told
    harmless = chat_pb2.ToolCall()
    harmless.CopyFrom(call.told)
    harmless.arguments_json = "{}"
    return harmless
