"""How a tool changes files, and tells what it does."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from heddle_tools_service.workspace.shapes import (
    FileEdits,
    FileQuery,
    Listing,
    Matches,
    Page,
    Patched,
)


@dataclass(frozen=True, slots=True)
class FileChange:
    """A change that a tool made to a file."""

    path: str
    reason: str = ""
    first: int = 0
    """The first line that was replaced, from 1; 0 if the change is not one of lines."""
    last: int = 0
    """The last line that was replaced; one less than `first` if lines were inserted only."""
    diff: str = ""
    """The unified diff of all changes of the file; on the first of them only."""


class Tell(Protocol):
    """Tells the person who waits what a tool does."""

    def __call__(self, message: str, change: FileChange | None = None, /) -> None:
        """Tell it in one short phrase without secrets, with the change that it is about."""


class Workspace(Protocol):
    """The folder whose text files the caller's tools may change.

    Every method raises `ToolError` for a refusal, with one of the kinds `content_mismatch`,
    `invalid_range`, `overlap`, `path_denied`, `not_found`, `not_text`, `invalid_arguments` and
    `conflict`, and `ToolUnavailableError` if the disk fails. Paths are relative to the folder.
    """

    def inside(self, folder: str, *, shared: bool = False) -> "Workspace":
        """Return the same with everything out of reach that is not in `folder`.

        Args:
            folder: A folder; empty for everything.
            shared: Whether it is in the workspace that the caller's organisation shares, instead
                of in the caller's own.
        """

    async def patch(
        self, files: Sequence[FileEdits], *, dry_run: bool = False, relocate: bool = False
    ) -> Patched:
        """Change all `files`, or none.

        Args:
            files: What to change.
            dry_run: Only tell what would become of them.
            relocate: Follow an old text that stands at one other place.
        """

    async def restore(self, identifier: str, *, path: str = "", force: bool = False) -> Patched:
        """Put back what a patch replaced: all of its files, or the one at `path`.

        Args:
            identifier: The `restore_id` of the patch.
            path: The only file to put back.
            force: Whether to lose what was changed since.
        """

    async def page(self, path: str, first: int = 1, last: int | None = None) -> Page:
        """Return lines `first` to `last` of a file, or to its end."""

    async def entries(self, folder: str, pattern: str, *, depth: int, most: int) -> Listing:
        """Return what is in a folder, `depth` levels deep; of files those that match a glob."""

    async def find(self, query: FileQuery) -> Matches:
        """Return the lines of files that match."""
