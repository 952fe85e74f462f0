"""Builds the request that a connector receives from a chat completion in OpenAI's format."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb

_ROLES = {
    "system": chat.ROLE_SYSTEM,
    "developer": chat.ROLE_DEVELOPER,
    "user": chat.ROLE_USER,
    "assistant": chat.ROLE_ASSISTANT,
    "tool": chat.ROLE_TOOL,
}
_MESSAGE_MEMBERS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_CALL_MEMBERS = frozenset({"id", "type", "function"})
_OPTIONS = ("temperature", "top_p", "max_tokens", "stop", "seed")


def generate_request(
    connector: str, model: str, messages: Sequence[Mapping[str, Any]], members: Mapping[str, Any]
) -> pb.GenerateMessageRequest:
    """Return the request for a chat completion.

    Args:
        connector: The name of the connector.
        model: The provider's name of the model.
        messages: The conversation, as in OpenAI's format.
        members: The other members of the completion, as in OpenAI's format: tools and options.
    """
    extra = {name: value for name, value in members.items() if name not in (*_OPTIONS, "tools")}
    options = {name: members[name] for name in _OPTIONS if members.get(name) is not None}
    return pb.GenerateMessageRequest(
        model=ModelRef(connector=connector, model=model),
        messages=[_message(message) for message in messages],
        functions=[_function(tool) for tool in members.get("tools", ())],
        options=chat.GenerationOptions(**options, extra_json=_json(extra)),
    )


def _message(message: Mapping[str, Any]) -> chat.Message:
    content = message.get("content") or ()
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return chat.Message(
        role=_ROLES[message["role"]],
        parts=[_part(part) for part in parts],
        participant=message.get("name", ""),
        tool_calls=[_call(call) for call in message.get("tool_calls") or ()],
        tool_call_id=message.get("tool_call_id", ""),
        extra_json=_json(_others(message, _MESSAGE_MEMBERS)),
    )


def _part(part: Mapping[str, Any]) -> chat.ContentPart:
    match part:
        case {"type": "text", "text": text}:
            return chat.ContentPart(text=text)
        case {"type": "image_url", "image_url": {"url": url}}:
            return chat.ContentPart(image=_media(url))
        case {"type": "file", "file": {"file_data": url, **names}}:
            return chat.ContentPart(file=_media(url, str(names.get("filename", ""))))
        case _:
            foreign = chat.ForeignPart(type=part["type"], json=_json(part))
            return chat.ContentPart(foreign=foreign)


def _media(url: str, filename: str = "") -> chat.Media:
    head, comma, data = url.partition(";base64,")
    if not comma:
        return chat.Media(uri=url)
    media_type = head.removeprefix("data:")
    return chat.Media(data=base64.b64decode(data), media_type=media_type, filename=filename)


def _call(call: Mapping[str, Any]) -> chat.ToolCall:
    function = call["function"]
    return chat.ToolCall(
        id=call["id"],
        name=function["name"],
        arguments_json=function["arguments"],
        extra_json=_json(_others(call, _CALL_MEMBERS)),
    )


def _function(tool: Mapping[str, Any]) -> chat.FunctionDeclaration:
    if tool["type"] != "function":
        return chat.FunctionDeclaration(foreign_json=_json(tool))
    function = tool["function"]
    parameters = _json(function["parameters"]) if "parameters" in function else ""
    return chat.FunctionDeclaration(
        name=function["name"],
        description=function.get("description", ""),
        parameters_schema_json=parameters,
        strict=function.get("strict"),
    )


def _others(members: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in members.items() if name not in known}


def _json(value: Mapping[str, Any]) -> str:
    return msgspec.json.encode(value).decode() if value else ""
