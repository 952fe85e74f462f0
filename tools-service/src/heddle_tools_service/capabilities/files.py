"""Capability: the author's files."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileText:
    """The beginning of a file."""

    text: str
    truncated: bool
    """Whether the file has more text."""


class Files(Protocol):
    """The files that the assistant may read."""

    async def read(self, path: str, max_chars: int) -> FileText:
        """Return up to `max_chars` characters of the UTF-8 file at `path`.

        Args:
            path: Relative to the root of the files.
            max_chars: Limits the text.

        Raises:
            ToolError: `Invalid file path` (outside the root, another owner's, not a file),
                `File not found: …`, or `Failed to read file: …`.
        """
