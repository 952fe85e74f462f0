"""The records of files in collections and of batches."""

import re
import time
import uuid
from typing import Any, Literal

import msgspec

from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.collection.types import IngestProgress

State = Literal["in_progress", "completed", "failed", "cancelled"]
Source = Literal["content", "web", "transcript"]
Attributes = dict[str, Any]
"""Texts, numbers and truth values."""
FILE, BATCH = "file-", "vsfb_"
"""The prefixes of the identifiers of files and of batches."""
_HEXADECIMAL = re.compile(r"[0-9a-f]{32}")


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """The source of a file's ingestion, and its options."""

    chunking: Chunking | None = None
    """How it is split; None: as the collection says."""
    uri: str = ""
    """The address at which people can read it."""
    source: Source = "content"
    language: str = ""
    """The language of a transcript."""
    seconds: int = 0
    """The length of a passage of a transcript in seconds; 0 stands for the default."""


AS_THE_COLLECTION = Reading()


class Attachment(msgspec.Struct, frozen=True, kw_only=True):
    """A file in a collection."""

    file_id: str
    collection: str
    """The id of the collection's record."""
    document: str
    """The name of its document there."""
    person: str
    """The owner of the file, as `folder.person_key` returns it."""
    filename: str
    media_type: str
    size: int
    attributes: Attributes
    created_at: int
    """Microseconds since 1970."""
    organization: str = ""
    """The slug of the collection's organisation; empty for the operator's."""
    state: State = "in_progress"
    error: str = ""
    unreadable: bool = False
    started_at: int = 0
    """The start of its ingestion, in microseconds since 1970; 0 before that."""
    ended_at: int = 0
    """The end of its ingestion, in microseconds since 1970; 0 before that."""
    reading: Reading = AS_THE_COLLECTION

    def labels(self) -> dict[str, str]:
        """Return the metadata of its document."""
        return {"file_id": self.file_id} | {
            key: value if isinstance(value, str) else msgspec.json.encode(value).decode()
            for key, value in self.attributes.items()
        }


class Ingestion(msgspec.Struct, frozen=True):
    """An ingestion that has begun and not ended."""

    started_at: int
    """Microseconds since 1970."""
    progress: IngestProgress | None = None
    """The progress of its ingestion."""


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


def new_id(prefix: str = FILE) -> str:
    """Return an identifier that nothing else has."""
    return f"{prefix}{uuid.uuid4().hex}"


def now_microseconds() -> int:
    """Return the time in microseconds since 1970."""
    return time.time_ns() // 1_000


def is_id(text: str, prefix: str = FILE) -> bool:
    """Return whether a text is an identifier with a prefix, which may be part of a path."""
    return text.startswith(prefix) and _HEXADECIMAL.fullmatch(text[len(prefix) :]) is not None
