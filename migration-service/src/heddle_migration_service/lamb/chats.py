"""LAMB's chats, as conversations."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_conversion import MalformedMetadataError, parse
from heddle_runtime.errors import InvalidRequestError

from heddle_migration_service.lamb.values import LambRow

_MAX_TITLE = 200
_PARTS = {"user": "input_text", "assistant": "output_text", "system": "input_text"}


def conversation(row: LambRow) -> pb.CreateConversationRequest:
    """Return the request that stores a chat with all its messages, in the order of their times.

    Raises:
        InvalidRequestError: It has no messages.
    """
    chat, items = row.text("id") or "", list[pb.Item]()
    messages = [each for each in _messages(row.text("chat")) if each.get("role") in _PARTS]
    for index, message in enumerate(sorted(messages, key=_seconds)):
        role, kind = message["role"], _PARTS[message["role"]]
        digest = hashlib.sha256(f"{chat} {index}".encode()).hexdigest()[:32]
        part: dict[str, Any] = {"type": kind, "text": text_of(message.get("content"))}
        if role == "assistant":
            part |= {"annotations": [], "logprobs": []}
        document = {"type": "message", "status": "completed", "role": role, "content": [part]}
        item = pb.Item(id=f"msg_{digest}", create_time=Timestamp(seconds=_seconds(message)))
        item.document_json = json.dumps({**document, "id": item.id})
        items.append(item)
    if not items:
        raise InvalidRequestError("It has no messages.")
    created_at = row.seconds("created_at") or _seconds(messages[0])
    return pb.CreateConversationRequest(
        conversation=pb.Conversation(
            title=(row.text("title") or "")[:_MAX_TITLE],
            assistant=f"lamb_assistant.{row.whole('assistant_id')}",
            archived=row.flag("archived"),
        ),
        items=items,
        origin=pb.Origin(
            id=chat,
            create_time=Timestamp(seconds=created_at),
            update_time=Timestamp(seconds=row.seconds("updated_at") or created_at),
        ),
    )


def _messages(chat: str | None) -> Iterator[Mapping[str, Any]]:
    try:
        history = parse(chat).get("history")
    except MalformedMetadataError:
        raise InvalidRequestError("Its messages cannot be read.") from None
    messages = history.get("messages") if isinstance(history, dict) else None
    for each in messages.values() if isinstance(messages, dict) else ():
        if isinstance(each, dict):
            yield each


def _seconds(message: Mapping[str, Any]) -> int:
    time = message.get("timestamp")
    return int(time) if isinstance(time, int | float) and 0 < time < 2**33 else 0


def text_of(content: object) -> str:
    """Return the text of a message, whose content may be parts, as OpenAI's."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(str(it["text"]) for it in parts if isinstance(it, dict) and "text" in it)
