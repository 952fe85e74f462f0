"""How a tool reads an author's files and rubrics."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class FileText:
    """The beginning of a file."""

    text: str
    truncated: bool
    """Whether the file goes on."""


class Files(Protocol):
    """The files that the assistant may read."""

    async def read(self, path: str, most: int) -> FileText:
        """Return up to `most` characters of the UTF-8 file at `path`, relative to the files' root.

        Raises:
            ToolError: `Invalid file path` (outside of the root, somebody else's, not a file),
                `File not found: …`, or `Failed to read file: …`.
        """


@dataclass(frozen=True, slots=True)
class Rubric:
    """An assessment rubric as it is stored."""

    id: str
    title: str
    data: Any
    """The content: a JSON value, or the text of one."""


class Rubrics(Protocol):
    """The rubrics that the assistant may use."""

    async def get(self, rubric_id: str) -> Rubric | None:
        """Return a rubric; None if there is none, or none that the assistant's owner may read."""
