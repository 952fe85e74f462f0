"""Translates the messages of a Messages request into those of the contract."""

from typing import TYPE_CHECKING

import msgspec
from heddle.chat.v1 import chat_pb2 as pb

from heddle_gateway.auth.sealed_texts import BoundTexts
from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.anthropic import schema
from heddle_gateway.openai.chat.message_schema import FileContent
from heddle_gateway.openai.chat.messages import file_part, image_part

if TYPE_CHECKING:
    from google.protobuf.internal.containers import RepeatedCompositeFieldContainer

    Messages = RepeatedCompositeFieldContainer[pb.Message]

_ROLES = {
    "user": pb.ROLE_USER,
    "assistant": pb.ROLE_ASSISTANT,
    "system": pb.ROLE_DEVELOPER,
}
_FAILED = "[The tool failed.]"
# Clients repeat them: the reasoning, and what hosted tools of Anthropic's did.
_SKIPPED = ("thinking", "server_tool_use", "mcp_tool_use")
_SKIPPED_RESULTS = "_tool_result"


class Needed(msgspec.Struct, omit_defaults=True):
    """What the model's provider needs back with the calls of a message, as JSON texts."""

    message: str = ""
    calls: dict[str, str] = {}
    """By the identifier of the call."""


def add_system(messages: "Messages", system: str | list[schema.TextBlock]) -> None:
    """Add the instructions of the client."""
    texts = [system] if isinstance(system, str) else [each.text for each in system]
    messages.add(role=pb.ROLE_DEVELOPER).parts.extend(pb.ContentPart(text=each) for each in texts)


def add_turn(messages: "Messages", turn: schema.Turn, place: Place, sealed: BoundTexts) -> None:
    """Add a message; results of calls, which are blocks of it, become messages of their own.

    Raises:
        InvalidRequestError: A block is invalid.
    """
    message = pb.Message(role=_ROLES[turn.role])
    if isinstance(turn.content, str):
        message.parts.add(text=turn.content)
        messages.append(message)
        return
    needed = Needed()
    for index, block in enumerate(turn.content):
        at = place.at("content", index)
        if isinstance(block, schema.ToolUseBlock):
            call = message.tool_calls.add(id=block.id, name=block.name)
            call.arguments_json = (at / "input").text()
        elif isinstance(block, schema.ToolResultBlock):
            messages.append(_result(block, at))
        elif isinstance(block, schema.SealedBlock):
            needed = _opened(block.data, sealed)
        elif (part := _part(block, at)) is not None:
            message.parts.append(part)
    if message.tool_calls:
        message.extra_json = needed.message
        for call in message.tool_calls:
            call.extra_json = needed.calls.get(call.id, "")
    if message.parts or message.tool_calls:
        messages.append(message)


def _opened(data: str, sealed: BoundTexts) -> Needed:
    text = sealed.open(data)
    return msgspec.json.decode(text, type=Needed) if text else Needed()


def _result(block: schema.ToolResultBlock, place: Place) -> pb.Message:
    message = pb.Message(role=pb.ROLE_TOOL, tool_call_id=block.tool_use_id)
    if block.is_error:
        message.parts.add(text=_FAILED)
    if isinstance(block.content, str):
        message.parts.add(text=block.content)
    for index, each in enumerate(block.content if isinstance(block.content, list) else ()):
        if (part := _part(each, place.at("content", index))) is not None:
            message.parts.append(part)
    return message


def _part(block: schema.Part, place: Place) -> pb.ContentPart | None:
    """Return the part of a message for a block, None if it is left out."""
    source = place / "source"
    match block:
        case schema.TextBlock():
            return pb.ContentPart(text=block.text)
        case schema.ImageBlock():
            return _image(block.source, source)
        case schema.DocumentBlock():
            return _document(block.source, block.title or "", source)
        case schema.SearchResultBlock():
            text = "\n".join(each.text for each in block.content)
            return pb.ContentPart(text=f"{block.title} ({block.source})\n{text}")
        case _ if block.type in _SKIPPED or block.type.endswith(_SKIPPED_RESULTS):
            return None
        case _:
            raise (place / "type").invalid(
                f"{block.type[:60]!r} is not supported. Send text, images, documents, search "
                "results, and calls of tools with their results"
            )


def _image(source: schema.Source, place: Place) -> pb.ContentPart:
    if source.type == "url" and source.url is not None:
        return image_part(source.url, None, place / "url")
    return image_part(_data_url(source, "image/png", place), None, place / "data")


def _document(source: schema.Source, title: str, place: Place) -> pb.ContentPart:
    text = source.data if source.type == "text" else source.content
    if source.type in ("text", "content") and text is not None:
        whole = text if isinstance(text, str) else "\n".join(each.text for each in text)
        return pb.ContentPart(text=f"{title}\n{whole}" if title else whole)
    url = _data_url(source, "application/pdf", place)
    return file_part(FileContent(file_data=url, filename=title), place, member="data")


def _data_url(source: schema.Source, media_type: str, place: Place) -> str:
    if source.type != "base64" or source.data is None:
        raise place.invalid("must be of the type base64, with data")
    return f"data:{source.media_type or media_type};base64,{source.data}"
