"""Translates OpenAI's messages into those of the contract."""

from typing import TYPE_CHECKING, Any

from heddle.chat.v1.chat_pb2 import (
    ROLE_ASSISTANT,
    ROLE_DEVELOPER,
    ROLE_SYSTEM,
    ROLE_TOOL,
    ROLE_USER,
    Message,
    ToolCall,
)

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.content_parts import content

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Messages = RepeatedCompositeFieldContainer[Message]

MAX_MESSAGES = 4096
MAX_PARTS_IN_ALL = 10_000
"""Of all messages: reading one takes some microseconds, during which other requests wait."""
_ROLES = {
    "system": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
    "developer": ROLE_DEVELOPER,
    "function": ROLE_TOOL,
}
# The roles that need only text.
_TEXT_ROLES = {name: role for name, role in _ROLES.items() if role != ROLE_TOOL}
_USUAL_MEMBERS = len(("role", "content"))
_KNOWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call"})
_KNOWN_BUT_CALLS = _KNOWN - {"tool_calls"}
_KNOWN_OF_CALLS = frozenset({"index", "id", "function"})


def add_conversation(messages: "Messages", value: object, place: Place) -> None:
    """Add the messages of a conversation."""
    items = validation.items(value, place, "messages", max_items=MAX_MESSAGES)
    if not items:
        raise (place / "messages").invalid("must have at least one message")
    room = MAX_PARTS_IN_ALL
    for index, item in enumerate(items):
        if _add_plain(messages, item):
            continue
        _add(messages, item, place.at("messages", index))
        room -= len(messages[-1].parts)
        if room < 0:
            raise (place / "messages").invalid(
                f"must have at most {MAX_PARTS_IN_ALL:,} parts in all"
            )


def add_question(messages: "Messages", prompt: str) -> None:
    """Add one message of the user."""
    messages.add(role=ROLE_USER).parts.add(text=prompt)


def _add_plain(messages: "Messages", value: object) -> bool:
    """Add a message if it has only a role and a text, as nearly all do; return whether it has."""
    if not isinstance(value, dict) or len(value) != _USUAL_MEMBERS:
        return False
    name, text = value.get("role"), value.get("content")
    if not isinstance(name, str) or not isinstance(text, str):
        return False
    role = _TEXT_ROLES.get(name)
    if role is None:
        return False
    messages.add(role=role).parts.add(text=text)
    return True


def _add(messages: "Messages", value: object, place: Place) -> None:
    members = validation.mapping(value, place)
    name = validation.text(members.get("role"), place, "role")
    role = _ROLES.get(name)
    if role is None:
        raise (place / "role").invalid(f"must be one of {', '.join(_ROLES)}")
    parts = members.get("content")
    if parts is None and role != ROLE_ASSISTANT:
        raise (place / "content").invalid("is required")
    message = messages.add(role=role, parts=content(parts, place / "content"))
    if (participant := members.get("name")) is not None:
        message.participant = validation.text(participant, place, "name")
    known = _KNOWN
    if role == ROLE_ASSISTANT:
        known = _add_calls(message, members, place)
    elif role == ROLE_TOOL:
        message.tool_call_id = _call_id(members, place, old=name == "function")
    others = [name for name, item in members.items() if item is not None and name not in known]
    message.extra_json = place.members(others)


def _call_id(members: dict[str, Any], place: Place, *, old: bool) -> str:
    """Return the id of the call that a tool's message answers; OpenAI's older form has its name."""
    member = "name" if old else "tool_call_id"
    return validation.text(members.get(member), place, member, empty=False)


def _add_calls(message: Message, members: dict[str, Any], place: Place) -> frozenset[str]:
    """Add the calls of an assistant's message, and return the members that were read."""
    if (old := members.get("function_call")) is not None:
        message.tool_calls.append(_call(old, "", place / "function_call"))
    if (calls := members.get("tool_calls")) is None:
        return _KNOWN
    items = validation.items(calls, place, "tool_calls", max_items=MAX_MESSAGES)
    if any(isinstance(call, dict) and "function" not in call for call in items):
        return _KNOWN_BUT_CALLS  # of a kind that only the provider knows: passed on unchanged
    for index, item in enumerate(items):
        at = place / "tool_calls" / index
        call = validation.mapping(item, at)
        identifier = validation.text(call.get("id"), at, "id", empty=False)
        tool_call = _call(call["function"], identifier, at / "function")
        others = [name for name, it in call.items() if it is not None and not _usual(name, it)]
        tool_call.extra_json = at.members(others)
        message.tool_calls.append(tool_call)
    return _KNOWN


def _usual(name: str, value: object) -> bool:
    """Return whether all calls have a member; others belong to the provider."""
    return name in _KNOWN_OF_CALLS or (name == "type" and value == "function")


def _call(value: object, identifier: str, place: Place) -> ToolCall:
    function = validation.mapping(value, place)
    name = validation.text(function.get("name"), place, "name", empty=False)
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # some clients send the parsed object
        arguments = (place / "arguments").text()
    text = "" if arguments is None else validation.text(arguments, place, "arguments")
    return ToolCall(id=identifier or name, name=name, arguments_json=text)
