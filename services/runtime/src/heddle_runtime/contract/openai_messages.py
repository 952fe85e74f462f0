"""Translates messages of the contract to OpenAI's chat completions format."""

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from heddle.chat.v1 import chat_pb2 as chat

from heddle_runtime.errors import InvalidRequestError, Violation

_ROLES = {
    chat.ROLE_SYSTEM: "system",
    chat.ROLE_USER: "user",
    chat.ROLE_ASSISTANT: "assistant",
    chat.ROLE_TOOL: "tool",
    chat.ROLE_DEVELOPER: "developer",
}
_DETAILS = {
    chat.IMAGE_DETAIL_AUTO: "auto",
    chat.IMAGE_DETAIL_LOW: "low",
    chat.IMAGE_DETAIL_HIGH: "high",
}
_MESSAGE_FIELDS = frozenset({"role", "content", "name", "tool_calls", "tool_call_id"})
_CALL_FIELDS = frozenset({"id", "function"})
_BAD_JSON = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
decode_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
"""Returns the members of a JSON object as they are written."""
_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav"}


def to_messages(messages: Iterable[chat.Message], field: str = "messages") -> list[dict[str, Any]]:
    """Return `messages` as dicts.

    Violations name the members of `field`.

    What the contract does not model is `msgspec.Raw`: the client's JSON text, which
    `msgspec.json.encode` writes back byte for byte.

    Raises:
        InvalidRequestError: A message contains invalid JSON, or media in a form that OpenAI's
            format does not support.
    """
    return [_message(message, f"{field}[{index}]") for index, message in enumerate(messages)]


def to_tool(function: chat.FunctionDeclaration, field: str) -> dict[str, Any] | msgspec.Raw:
    """Return one entry of the member `tools`."""
    if function.foreign_json:
        return raw(function.foreign_json, f"{field}.foreign_json")
    declared: dict[str, Any] = {"name": function.name}
    if function.description:
        declared["description"] = function.description
    if function.parameters_schema_json:
        declared["parameters"] = raw(
            function.parameters_schema_json, f"{field}.parameters_schema_json"
        )
    if function.HasField("strict"):
        declared["strict"] = function.strict
    return {"type": "function", "function": declared}


def members(text: str, field: str) -> Mapping[str, msgspec.Raw]:
    """Return the members of the JSON object `text`, each as JSON text."""
    if not text:
        return {}
    try:
        return decode_members(text)
    except _BAD_JSON:
        raise _not_json(field, "is not the text of a JSON object") from None


def raw(text: str, field: str) -> msgspec.Raw:
    """Return `text` as validated JSON text."""
    try:
        return msgspec.json.decode(text, type=msgspec.Raw)
    except _BAD_JSON:
        raise _not_json(field, "is not JSON text") from None


def _message(message: chat.Message, field: str) -> dict[str, Any]:
    result: dict[str, Any] = {}
    if extra := message.extra_json:
        fields = members(extra, f"{field}.extra_json")
        result = {name: value for name, value in fields.items() if name not in _MESSAGE_FIELDS}
        if "reasoning" in result:  # clients receive it under both names
            result.pop("reasoning_content", None)
    result["role"] = _ROLES.get(message.role, "user")
    result["content"] = _content(message, field)
    if participant := message.participant:
        result["name"] = participant
    if calls := message.tool_calls[:]:
        result["tool_calls"] = [
            _call(call, f"{field}.tool_calls[{index}]") for index, call in enumerate(calls)
        ]
    if call_id := message.tool_call_id:
        result["tool_call_id"] = call_id
    return result


def _call(call: chat.ToolCall, field: str) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments_json}
    result: dict[str, Any] = {"id": call.id, "type": "function", "function": function}
    if extra := call.extra_json:
        fields = members(extra, f"{field}.extra_json")
        result |= {name: value for name, value in fields.items() if name not in _CALL_FIELDS}
    return result


def _content(message: chat.Message, field: str) -> str | list[Any] | None:
    parts = message.parts[:]
    if len(parts) == 1 and parts[0].HasField("text"):
        return parts[0].text
    if not parts:
        return None if message.tool_calls else ""
    return [_part(part, f"{field}.parts[{index}]") for index, part in enumerate(parts)]


def _part(part: chat.ContentPart, field: str) -> dict[str, Any] | msgspec.Raw:
    match part.WhichOneof("kind"):
        case "text":
            return {"type": "text", "text": part.text}
        case "image":
            return {"type": "image_url", "image_url": _image(part.image)}
        case "audio":
            return {"type": "input_audio", "input_audio": _audio(part.audio, field)}
        case "file":
            return {"type": "file", "file": _file(part.file, field)}
        case "foreign":
            return raw(part.foreign.json, f"{field}.foreign.json")
        case None:
            violation = Violation(field, "has no content of a known kind")
            raise InvalidRequestError("A content part is empty.", [violation])


def _image(media: chat.Media) -> dict[str, str]:
    image = {"url": media.uri or _data_url(media)}
    if detail := _DETAILS.get(media.image_detail):
        image["detail"] = detail
    return image


def _audio(media: chat.Media, field: str) -> dict[str, str]:
    _refuse_address(media, field, "Sound")
    subtype = media.media_type.partition("/")[2].partition(";")[0]
    return {"data": _base64(media), "format": _AUDIO_FORMATS.get(subtype, subtype)}


def _file(media: chat.Media, field: str) -> dict[str, str]:
    _refuse_address(media, field, "A document")
    file = {"file_data": _data_url(media)}
    if media.filename:
        file["filename"] = media.filename
    return file


def _refuse_address(media: chat.Media, field: str, what: str) -> None:
    if media.uri:
        violation = Violation(f"{field}.uri", "must be given as data")
        raise InvalidRequestError(
            f"{what} can be sent to providers as data only, not as an address.", [violation]
        )


def _data_url(media: chat.Media) -> str:
    return f"data:{media.media_type};base64,{_base64(media)}"


def _base64(media: chat.Media) -> str:
    return base64.b64encode(media.data).decode("ascii")


def _not_json(field: str, problem: str) -> InvalidRequestError:
    return InvalidRequestError(f"{field} {problem}.", [Violation(field, problem)])
