"""OpenAI's messages as ours."""

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

    Turns = RepeatedCompositeFieldContainer[Message]

MAX_MESSAGES = 4096
MOST_PARTS = 10_000
"""Of all messages together: to read one takes some microseconds, in which nobody else is served."""
_ROLES = {
    "system": ROLE_SYSTEM,
    "user": ROLE_USER,
    "assistant": ROLE_ASSISTANT,
    "tool": ROLE_TOOL,
    "developer": ROLE_DEVELOPER,
    "function": ROLE_TOOL,
}
# The roles that need nothing but words.
_SPEAKERS = {name: role for name, role in _ROLES.items() if role != ROLE_TOOL}
_USUAL_MEMBERS = len(("role", "content"))
_KNOWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call"})
_KNOWN_BUT_CALLS = _KNOWN - {"tool_calls"}
_KNOWN_OF_CALLS = frozenset({"index", "id", "function"})


def fill_conversation(messages: "Turns", value: object, place: Place) -> None:
    """Add the turns of `messages`."""
    found = validation.items(value, place, "messages", most=MAX_MESSAGES)
    if not found:
        raise (place / "messages").wrong("must have at least one message")
    room = MOST_PARTS
    for index, item in enumerate(found):
        if _fill_usual(messages, item):
            continue
        _fill(messages, item, place.at("messages", index))
        room -= len(messages[-1].parts)
        if room < 0:
            raise (place / "messages").wrong(f"must have at most {MOST_PARTS:,} parts in all")


def fill_question(messages: "Turns", prompt: str) -> None:
    """Add one turn of the person."""
    messages.add(role=ROLE_USER).parts.add(text=prompt)


def _fill_usual(messages: "Turns", value: object) -> bool:
    """Add a turn that is nothing but somebody's words, as nearly all are, if it is one."""
    if not isinstance(value, dict) or len(value) != _USUAL_MEMBERS:
        return False
    name, said = value.get("role"), value.get("content")
    if not isinstance(name, str) or not isinstance(said, str):
        return False
    role = _SPEAKERS.get(name)
    if role is None:
        return False
    messages.add(role=role).parts.add(text=said)
    return True


def _fill(messages: "Turns", value: object, place: Place) -> None:
    given = validation.mapping(value, place)
    name = validation.text(given.get("role"), place, "role")
    role = _ROLES.get(name)
    if role is None:
        raise (place / "role").wrong(f"must be one of {', '.join(_ROLES)}")
    said = given.get("content")
    if said is None and role != ROLE_ASSISTANT:
        raise (place / "content").wrong("is required")
    message = messages.add(role=role, parts=content(said, place / "content"))
    if (participant := given.get("name")) is not None:
        message.participant = validation.text(participant, place, "name")
    known = _KNOWN
    if role == ROLE_ASSISTANT:
        known = _add_calls(message, given, place)
    elif role == ROLE_TOOL:
        message.tool_call_id = _answered(given, place, old=name == "function")
    others = [name for name, item in given.items() if item is not None and name not in known]
    message.extra_json = place.members(others)


def _answered(given: dict[str, Any], place: Place, *, old: bool) -> str:
    """Return the id of the call that a tool's turn answers. Turns of old know only its name."""
    member = "name" if old else "tool_call_id"
    return validation.text(given.get(member), place, member, empty=False)


def _add_calls(message: Message, given: dict[str, Any], place: Place) -> frozenset[str]:
    """Add the calls of an assistant's turn, and return the members that are modelled then."""
    if (old := given.get("function_call")) is not None:
        message.tool_calls.append(_call(old, "", place / "function_call"))
    if (calls := given.get("tool_calls")) is None:
        return _KNOWN
    found = validation.items(calls, place, "tool_calls", most=MAX_MESSAGES)
    if any(isinstance(call, dict) and "function" not in call for call in found):
        return _KNOWN_BUT_CALLS  # of a kind that only the provider knows: handed on as they are
    for index, item in enumerate(found):
        at = place / "tool_calls" / index
        call = validation.mapping(item, at)
        identifier = validation.text(call.get("id"), at, "id", empty=False)
        made = _call(call["function"], identifier, at / "function")
        others = [name for name, it in call.items() if it is not None and not _usual(name, it)]
        made.extra_json = at.members(others)
        message.tool_calls.append(made)
    return _KNOWN


def _usual(name: str, value: object) -> bool:
    """Say whether a member is one that all calls have; others are the provider's."""
    return name in _KNOWN_OF_CALLS or (name == "type" and value == "function")


def _call(value: object, identifier: str, place: Place) -> ToolCall:
    function = validation.mapping(value, place)
    name = validation.text(function.get("name"), place, "name", empty=False)
    arguments = function.get("arguments")
    if isinstance(arguments, dict):  # some clients send what they parsed
        arguments = (place / "arguments").text()
    told = "" if arguments is None else validation.text(arguments, place, "arguments")
    return ToolCall(id=identifier or name, name=name, arguments_json=told)
