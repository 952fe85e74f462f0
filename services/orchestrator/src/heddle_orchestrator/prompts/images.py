"""Withholds images from models that do not read them."""

from collections.abc import Sequence

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.chat.v1 import chat_pb2
from heddle_runtime.contract.conversations import question_index

WITHHELD = "This assistant does not read images: it answers without those of your message."
_REMOVED = "[An image was removed: this assistant does not read images.]"


def visible(
    assistant: Assistant, messages: Sequence[chat_pb2.Message]
) -> Sequence[chat_pb2.Message]:
    """Return the messages as the assistant's model may read them; themselves, if it reads all.

    If the assistant has a template and not the capability `vision`, the images of all messages are
    removed; of a message that has nothing else, a note is left. Without a template, the model
    receives the conversation unchanged. Does not change its arguments.
    """
    if assistant.capabilities.vision or not assistant.prompt_template:
        return messages
    with_images = [has_image(each.parts) for each in messages]
    if True not in with_images:
        return messages
    return [
        _without_images(message) if has_images else message
        for message, has_images in zip(messages, with_images, strict=True)
    ]


def question_has_image(messages: Sequence[chat_pb2.Message]) -> bool:
    """Return whether the question of a conversation has an image."""
    index = question_index(messages)
    return index is not None and has_image(messages[index].parts)


def has_image(parts: Sequence[chat_pb2.ContentPart]) -> bool:
    """Return whether one of the parts is an image, also of a kind that only the client knows."""
    for part in parts[:]:  # noqa: SIM110 - a generator takes longer than the search itself
        if _is_image(part):
            return True
    return False


def _is_image(part: chat_pb2.ContentPart) -> bool:
    kind = part.WhichOneof("kind")
    return kind == "image" or (kind == "foreign" and "image" in part.foreign.type)


def _without_images(message: chat_pb2.Message) -> chat_pb2.Message:
    rest = chat_pb2.Message()
    rest.CopyFrom(message)
    del rest.parts[:]
    rest.parts.extend(part for part in message.parts if not _is_image(part))
    if not rest.parts:
        rest.parts.add(text=_REMOVED)
    return rest
