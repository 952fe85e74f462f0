"""The JSON form of an assistant in requests and responses.

`heddle_conversion.assistant_json` defines it, also for files.
"""

from typing import Any

import msgspec
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_json import (
    PUBLISHED_MEMBER,
    FieldError,
    read_assistant,
    write_assistant,
)

from heddle_gateway.http.json_text import Place


def document(assistant: pb.Assistant, *, published: bool | None = None) -> dict[str, Any]:
    """Return the JSON form of an assistant.

    Args:
        assistant: The assistant.
        published: Whether others may use it; left out if that is not known.
    """
    members = write_assistant(assistant, lambda text: msgspec.Raw(text.encode()))
    if published is not None:
        members[PUBLISHED_MEMBER] = published
    return members


def capabilities(able: pb.Capabilities) -> dict[str, bool]:
    """Return what an assistant can do besides text."""
    return {field.name: getattr(able, field.name) for field in able.DESCRIPTOR.fields}


def assistant(body: dict[str, Any], place: Place) -> pb.Assistant:
    """Return the assistant that a body describes, whole: what it lacks is empty.

    Raises:
        InvalidRequestError: The body is wrong.
    """
    try:
        return read_assistant(body, lambda path, _: place.at(*path).text())
    except FieldError as error:
        raise place.at(*error.path).invalid(error.problem) from None
