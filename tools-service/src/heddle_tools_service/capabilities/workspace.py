"""Capability: the folder whose text files tools may read and change."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class Edit:
    """A change of a file: text to replace, insert or delete."""

    new: str
    """The new lines. Empty: delete."""
    old: str
    """The text that is there now. Empty: insert."""
    first: int | None = None
    """The first line that is replaced, from 1. None: wherever `old` occurs, if only once."""
    last: int | None = None
    """The last line that is replaced; one less than `first` inserts before `first`."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FileEdits:
    """All changes of one file. Line numbers are those of the file before any of them."""

    path: str
    edits: tuple[Edit, ...]
    sha256: str = ""
    """The digest, or its beginning, that the file must have. Empty: any."""
    create: bool = False
    """Whether the file is a new one."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change as it was made."""

    index: int
    """The place of its `Edit` among those of the file, from 0."""
    first: int
    last: int
    """The lines that were replaced, as in `Edit`."""
    new_first: int
    new_last: int
    """The place of the new lines now; `new_last` is one less than `new_first` if there are none."""
    reason: str
    unchanged: bool
    """Whether the new lines equal the old ones."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """The result of changing one file."""

    path: str
    status: Literal["changed", "created", "unchanged", "restored", "removed"]
    sha256: str
    """The digest of the file as it is now. Empty if it was removed."""
    changes: tuple[Change, ...] = ()
    diff: str = ""
    """The unified diff. Bytes that are not UTF-8 are lone surrogates in it."""
    added: int = 0
    removed: int = 0


@dataclass(frozen=True, slots=True)
class Patched:
    """The result of a patch: all files that it named."""

    files: tuple[ChangedFile, ...]
    restore_id: str = ""
    """The identifier with which `restore` undoes the patch. Empty if nothing was written."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some lines of a file."""

    path: str
    sha256: str
    first: int
    lines: tuple[str, ...]
    """The lines from `first` on, without their ends. Bytes that are not UTF-8 show as U+FFFD."""
    total: int
    line_end: Literal["LF", "CRLF", "mixed", "none"]
    final_newline: bool


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder."""

    path: str
    folder: bool
    size: int = 0


@dataclass(frozen=True, slots=True)
class Listing:
    """The files and folders of a folder."""

    entries: tuple[Entry, ...]
    cut: str = ""
    """Why entries are missing. Empty if all are here."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class FileQuery:
    """A search for text in the files of a workspace."""

    text: str
    regex: bool = False
    case_sensitive: bool = True
    folder: str = ""
    pattern: str = ""
    """A glob that paths must match. Empty: any."""
    most: int = 100


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines that a search found."""

    matches: tuple[Match, ...]
    files: int
    """The number of files that were searched."""
    skipped: int
    """The number of files that were skipped: binary, too large, or not readable."""
    cut: str = ""
    """Why matches are missing. Empty if all are here."""


@dataclass(frozen=True, slots=True)
class Area:
    """The part of the workspaces that a tool may use."""

    folder: str = ""
    """The only folder that is open. Empty: all of the workspace."""
    shared: bool = False
    """Whether it is in the workspace that the caller's organisation shares, instead of in the
    caller's own."""


class Workspace(Protocol):
    """The folder whose text files the caller's tools may change.

    Every method raises `ToolError` for a refusal, with one of the kinds `content_mismatch`,
    `invalid_range`, `overlap`, `path_denied`, `not_found`, `not_text`, `invalid_arguments` and
    `conflict`, and `ToolUnavailableError` if the disk fails. Paths are relative to the folder.
    """

    async def patch(
        self,
        area: Area,
        files: Sequence[FileEdits],
        *,
        dry_run: bool = False,
        relocate: bool = False,
    ) -> Patched:
        """Change all `files`, or none.

        Args:
            area: What the tool may use, as for the other methods.
            files: The changes.
            dry_run: Return the result without writing.
            relocate: Change an old text where it is, if that is exactly one other place.
        """

    async def restore(
        self, area: Area, identifier: str, *, path: str = "", force: bool = False
    ) -> Patched:
        """Undo a patch: for all of its files, or for the one at `path`.

        Args:
            area: What the tool may use.
            identifier: The `restore_id` of the patch.
            path: The only file to put back.
            force: Whether to overwrite later changes.
        """

    async def page(self, area: Area, path: str, first: int = 1, last: int | None = None) -> Page:
        """Return lines `first` to `last` of a file, or to its end."""

    async def entries(
        self, area: Area, folder: str, pattern: str, *, depth: int, most: int
    ) -> Listing:
        """Return the content of a folder, `depth` levels deep; of files, those that fit a glob."""

    async def find(self, area: Area, query: FileQuery) -> Matches:
        """Return the lines of files that match."""
