"""How a tool reports what it is doing."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that a tool made to a file."""

    path: str
    reason: str = ""
    first: int = 0
    """The first line that was replaced, from 1; 0 if the change has no line range."""
    last: int = 0
    """The last line that was replaced; `first` - 1 if lines were only inserted."""
    diff: str = ""
    """The unified diff of all changes of the file; on the first of them only."""


class ReportStatus(Protocol):
    """Reports to the waiting user what a tool is doing."""

    def __call__(self, message: str, change: FileChange | None = None, /) -> None:
        """Report one short phrase without secrets, with the file change it is about."""
