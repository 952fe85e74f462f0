"""Translates OpenAI's messages into those of the contract."""

import base64
import binascii
import mimetypes
from typing import TYPE_CHECKING, Any

from heddle.chat.v1 import chat_pb2 as pb
from heddle.chat.v1.chat_pb2 import (
    IMAGE_DETAIL_AUTO,
    IMAGE_DETAIL_HIGH,
    IMAGE_DETAIL_LOW,
    IMAGE_DETAIL_UNSPECIFIED,
    ContentPart,
    ForeignPart,
    Media,
)

from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat import message_schema as schema
from heddle_gateway.openai.chat.message_schema import (
    AudioPart,
    FileContent,
    FilePart,
    ImagePart,
    Part,
    TextPart,
)

MAX_MEDIA_BYTES = 20 * 1024 * 1024
_DETAILS = {"auto": IMAGE_DETAIL_AUTO, "low": IMAGE_DETAIL_LOW, "high": IMAGE_DETAIL_HIGH}
_AUDIO = {"mp3": "audio/mpeg", "wav": "audio/wav"}
UNKNOWN_TYPE = "application/octet-stream"


def content_part(part: Part, place: Place) -> ContentPart:
    """Return a part of a message.

    Raises:
        InvalidRequestError: Its data is invalid.
    """
    match part:
        case TextPart():
            return ContentPart(text=part.text)
        case ImagePart():
            image = part.image_url
            return image_part(image.url, image.detail, place.at("image_url", "url"))
        case AudioPart():
            audio = part.input_audio
            data = _decoded(audio.data, place.at("input_audio", "data"))
            media_type = _AUDIO.get(audio.format, f"audio/{audio.format}")
            return ContentPart(audio=Media(data=data, media_type=media_type))
        case FilePart():
            return file_part(part.file, place / "file")
        case _:
            return ContentPart(foreign=ForeignPart(type=part.type, json=place.text()))


def image_part(url: str, detail: object, place: Place) -> ContentPart:
    """Return an image by its address, which is at `place`.

    Raises:
        InvalidRequestError: The address is invalid.
    """
    known = _DETAILS.get(detail) if isinstance(detail, str) else None
    media = Media(image_detail=known or IMAGE_DETAIL_UNSPECIFIED)
    if url[:8].lower() == "https://":
        media.uri = url
    elif url[:5].lower() == "data:":
        media.media_type, media.data = _data_url(url, place)
    else:
        raise place.invalid("must begin with https:// or data:")
    return ContentPart(image=media)


def file_part(
    file: FileContent, place: Place, remedy: str = "", member: str = "file_data"
) -> ContentPart:
    """Return a file by its content in base64, or as a `data:` URL, or by its identifier.

    Args:
        file: The file.
        place: Its place.
        remedy: What follows the message that there is no content.
        member: The member that has the content.

    Raises:
        InvalidRequestError: The content is invalid, or there is none.
    """
    encoded, name, at = file.file_data, file.filename or "", place / member
    if encoded is None:
        if file.file_id is None:
            raise place.invalid(f"must have file_data or file_id{remedy}")
        return ContentPart(file=Media(uri=file.file_id))  # `inline_files` replaces it
    if encoded[:5].lower() == "data:":
        media_type, data = _data_url(encoded, at)
    else:
        media_type, data = mimetypes.guess_type(name)[0] or UNKNOWN_TYPE, _decoded(encoded, at)
    return ContentPart(file=Media(data=data, media_type=media_type, filename=name))


def _data_url(url: str, place: Place) -> tuple[str, bytes]:
    """Return the media type and the content of `data:<media type>;base64,<content>`."""
    head, comma, encoded = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise place.invalid(
            "must be a data URL in base64, for example data:image/png;base64,iVBORw0"
        )
    return head[5:-7].partition(";")[0].lower() or UNKNOWN_TYPE, _decoded(encoded, place)


def _decoded(encoded: str, place: Place) -> bytes:
    # Four characters stand for three bytes, of which the padding says that one or two are missing.
    if len(encoded) // 4 * 3 - encoded[-2:].count("=") > MAX_MEDIA_BYTES:
        raise place.invalid(f"must not be larger than {MAX_MEDIA_BYTES} bytes")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise place.invalid("must be base64") from None


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
