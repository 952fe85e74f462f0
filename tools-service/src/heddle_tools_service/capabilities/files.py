"""Capability: the author's files."""

import re
from dataclasses import dataclass
from typing import Protocol

_UPLOADED = re.compile(r"file-[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class FileText:
    """The beginning of a file."""

    name: str
    """The path, or the name of an uploaded file."""
    text: str
    truncated: bool
    """Whether the file has more text."""


def is_uploaded(path: str) -> bool:
    """Return whether a path is the identifier of an uploaded file."""
    return _UPLOADED.fullmatch(path) is not None


class Files(Protocol):
    """The files that the assistant may read."""

    async def read(self, path: str, max_chars: int) -> FileText:
        """Return up to `max_chars` characters of a file.

        Args:
            path: Of a UTF-8 file, relative to the root of the files; or the identifier of a file
                that the assistant's owner has uploaded, such as `file-` and 32 hexadecimal digits.
            max_chars: Limits the text.

        Raises:
            ToolError: `Invalid file path` (outside the root, another owner's, not a file),
                `File not found: …`, or `Failed to read file: …`.
            ToolUnavailableError: The service that has the uploaded files does not answer.
        """
