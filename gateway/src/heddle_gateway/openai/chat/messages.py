"""Translates OpenAI's messages into those of the contract."""

from typing import TYPE_CHECKING, Any

from heddle.chat.v1 import chat_pb2 as pb

from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat import message_schema as schema
from heddle_gateway.openai.chat.content_parts import content_part

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Messages = RepeatedCompositeFieldContainer[pb.Message]

_ROLES = {
    "system": pb.ROLE_SYSTEM,
    "user": pb.ROLE_USER,
    "assistant": pb.ROLE_ASSISTANT,
    "tool": pb.ROLE_TOOL,
    "developer": pb.ROLE_DEVELOPER,
    "function": pb.ROLE_TOOL,
}
_USUAL_MEMBERS = len(("role", "content"))
_KNOWN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "function_call"})
_KNOWN_OF_CALLS = frozenset({"index", "id", "function"})


def add_question(messages: "Messages", prompt: str) -> None:
    """Add one message of the user."""
    messages.add(role=pb.ROLE_USER).parts.add(text=prompt)


def add_conversation(
    messages: "Messages",
    conversation: list[schema.Message],
    members: list[dict[str, Any]],
    place: Place,
) -> None:
    """Add the messages of a conversation.

    Args:
        messages: The messages of a request to the orchestrator.
        conversation: The conversation.
        members: The members of each message, also those that are passed to the provider.
        place: The place of the conversation.
    """
    for index, message in enumerate(conversation):
        added = messages.add(role=_ROLES[message.role])
        is_text = isinstance(message.content, str)
        if is_text:
            added.parts.add(text=message.content)
        if not (is_text and len(members[index]) == _USUAL_MEMBERS):
            _add_rest(added, message, members[index], place / index)


def _add_rest(
    added: pb.Message, message: schema.Message, members: dict[str, Any], place: Place
) -> None:
    """Add all but the text, which is all that most messages have."""
    if isinstance(message.content, list):
        parts = place / "content"
        added.parts.extend(content_part(p, parts / i) for i, p in enumerate(message.content))
    if message.name is not None:
        added.participant = message.name
    known = _KNOWN
    if isinstance(message, schema.AssistantMessage):
        _add_calls(added, message, members, place)
        if message.tool_calls is None:
            known = _KNOWN - {"tool_calls"}  # calls that only the provider knows
    elif isinstance(message, schema.ToolMessage):
        added.tool_call_id = message.tool_call_id
    elif isinstance(message, schema.FunctionMessage):  # OpenAI's older form names the function
        added.tool_call_id = message.name
    others = [name for name, it in members.items() if it is not None and name not in known]
    added.extra_json = place.members(others)


def _add_calls(
    added: pb.Message, message: schema.AssistantMessage, members: dict[str, Any], place: Place
) -> None:
    if message.function_call is not None:
        added.tool_calls.append(_call(message.function_call, "", place / "function_call"))
    for index, call in enumerate(message.tool_calls or ()):
        at = place / "tool_calls" / index
        tool_call = _call(call.function, call.id, at / "function")
        own = members["tool_calls"][index].items()
        others = [name for name, it in own if it is not None and not _usual(name, it)]
        tool_call.extra_json = at.members(others)
        added.tool_calls.append(tool_call)


def _usual(name: str, value: object) -> bool:
    """Return whether all calls have a member; others belong to the provider."""
    return name in _KNOWN_OF_CALLS or (name == "type" and value == "function")


def _call(function: schema.FunctionCall, identifier: str, place: Place) -> pb.ToolCall:
    name, arguments = function.name, function.arguments
    if isinstance(arguments, dict):  # some clients send the parsed object
        arguments = (place / "arguments").text()
    return pb.ToolCall(id=identifier or name, name=name, arguments_json=arguments or "")
