"""What is kept of an uploaded file, and of one on its way into a collection."""

import re
import uuid
from typing import Any, Literal

import msgspec

State = Literal["in_progress", "completed", "failed", "cancelled"]
Attributes = dict[str, Any]
"""Texts, numbers and truth values."""
_ID = re.compile(r"file-[0-9a-f]{32}")
_BATCH_ID = re.compile(r"vsfb_[0-9a-f]{32}")


class Upload(msgspec.Struct, frozen=True):
    """A file as it was uploaded."""

    id: str
    filename: str
    purpose: str
    media_type: str
    size: int
    created_at: int
    """Microseconds since 1970."""


class Attachment(msgspec.Struct, frozen=True):
    """A file in a collection."""

    file_id: str
    collection: str
    """The id of the collection's record."""
    document: str
    """The name of its document there."""
    person: str
    """Whose file it is, as of `folder.person_key`."""
    filename: str
    media_type: str
    size: int
    attributes: Attributes
    created_at: int
    """Microseconds since 1970."""
    state: State = "in_progress"
    error: str = ""
    unreadable: bool = False

    def labels(self) -> dict[str, str]:
        """Return the metadata of its document."""
        return {"file_id": self.file_id} | {
            key: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for key, value in self.attributes.items()
        }


class Batch(msgspec.Struct, frozen=True):
    """Files that were attached together."""

    id: str
    collection: str
    """The id of the collection's record."""
    files: list[str]
    """Their identifiers."""
    created_at: int
    """Microseconds since 1970."""
    cancelled: bool = False


def new_id() -> str:
    """Return an identifier that no other file has."""
    return f"file-{uuid.uuid4().hex}"


def is_id(text: str) -> bool:
    """Say whether a text has the form of a file's identifier, and may be part of a path."""
    return _ID.fullmatch(text) is not None


def new_batch_id() -> str:
    """Return an identifier that no other batch has."""
    return f"vsfb_{uuid.uuid4().hex}"


def is_batch_id(text: str) -> bool:
    """Say whether a text has the form of a batch's identifier, and may be part of a path."""
    return _BATCH_ID.fullmatch(text) is not None
