"""Capability: the folder whose text files tools may read and change."""

from collections.abc import Sequence
from typing import Protocol

from heddle_tools_service.workspace.shapes import (
    Change,
    ChangedFile,
    Edit,
    Entry,
    FileEdits,
    FileQuery,
    Listing,
    Match,
    Matches,
    Page,
    Patched,
)

__all__ = [
    "Change",
    "ChangedFile",
    "Edit",
    "Entry",
    "FileEdits",
    "FileQuery",
    "Listing",
    "Match",
    "Matches",
    "Page",
    "Patched",
    "Workspace",
]


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
