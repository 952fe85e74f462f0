"""OpenAI's messages as ours."""

from typing import Any

from heddle.chat.v1.chat_pb2 import (
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    ContentPart,
    Message,
    ToolCall,
)

from heddle_gateway import fields
from heddle_gateway.json_text import Place, rest
from heddle_gateway.parts import content

MAX_MESSAGES = 4096
_ROLES = {
    "system": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
    "developer": ROLE_DEVELOPER,
    "function": ROLE_TOOL,
}
_USUAL = frozenset({"role", "content"})
_KNOWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call"})
_KNOWN_BUT_CALLS = _KNOWN - {"tool_calls"}


def conversation(value: object, place: Place) -> list[Message]:
    """Return the turns of `messages`."""
    found = fields.items(value, place, most=MAX_MESSAGES)
    if not found:
        raise place.wrong("must have at least one message")
    return [_message(item, place / index) for index, item in enumerate(found)]


def question(prompt: str) -> list[Message]:
    """Return a conversation of one turn of the person."""
    return [Message(role=ROLE_USER, parts=[ContentPart(text=prompt)])]


def _message(value: object, place: Place) -> Message:
    given = fields.mapping(value, place)
    name = fields.text(given.get("role"), place, "role")
    role = _ROLES.get(name)
    if role is None:
        raise (place / "role").wrong(f"must be one of {', '.join(_ROLES)}")
    said = given.get("content")
    if said is None and role != ROLE_ASSISTANT:
        raise (place / "content").wrong("is required")
    message = Message(role=role, parts=content(said, place / "content"))
    if given.keys() <= _USUAL and role != ROLE_TOOL:
        return message
    if (participant := given.get("name")) is not None:
        message.participant = fields.text(participant, place, "name")
    known = _KNOWN
    if role == ROLE_ASSISTANT:
        known = _add_calls(message, given, place)
    elif role == ROLE_TOOL:
        message.tool_call_id = _answered(given, place, old=name == "function")
    message.extra_json = rest(given, place, known)
    return message


def _answered(given: dict[str, Any], place: Place, *, old: bool) -> str:
    """Return the id of the call that a tool's turn answers. Turns of old know only its name."""
    member = "name" if old else "tool_call_id"
    return fields.text(given.get(member), place, member, empty=False)


def _add_calls(message: Message, given: dict[str, Any], place: Place) -> frozenset[str]:
    """Add the calls of an assistant's turn, and return the members that are modelled then."""
    if (old := given.get("function_call")) is not None:
        message.tool_calls.append(_call(old, "", place / "function_call"))
    if (calls := given.get("tool_calls")) is None:
        return _KNOWN
    found = fields.items(calls, place, "tool_calls", most=MAX_MESSAGES)
    if any(isinstance(call, dict) and "function" not in call for call in found):
        return _KNOWN_BUT_CALLS  # of a kind that only the provider knows: handed on as they are
    for index, item in enumerate(found):
        at = place / "tool_calls" / index
        call = fields.mapping(item, at)
        identifier = fields.text(call.get("id"), at, "id", empty=False)
        message.tool_calls.append(_call(call["function"], identifier, at / "function"))
    return _KNOWN


def _call(value: object, identifier: str, place: Place) -> ToolCall:
    function = fields.mapping(value, place)
    name = fields.text(function.get("name"), place, "name", empty=False)
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # some clients send what they parsed
        arguments = (place / "arguments").text()
    told = "" if arguments is None else fields.text(arguments, place, "arguments")
    return ToolCall(id=identifier or name, name=name, arguments_json=told)
