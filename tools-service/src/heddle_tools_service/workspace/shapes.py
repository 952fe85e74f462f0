"""What is asked of a workspace, and what it answers."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Edit:
    """One change of a file."""

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
    """Where the new lines are now; `new_last` is one less than `new_first` if there are none."""
    reason: str
    unchanged: bool
    """Whether the new lines equal the old ones."""


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """What became of one file."""

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
    """What became of all files of one call."""

    files: tuple[ChangedFile, ...]
    restore_id: str = ""
    """What undoes it. Empty if nothing was written."""


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
    """What a folder holds."""

    entries: tuple[Entry, ...]
    cut: str = ""
    """Why there may be more. Empty if this is all."""


@dataclass(frozen=True, slots=True)
class Match:
    """A line that matches."""

    path: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class FileQuery:
    """What is searched for."""

    text: str
    regex: bool = False
    case_sensitive: bool = True
    folder: str = ""
    pattern: str = ""
    """A glob that paths must match. Empty: any."""
    most: int = 100


@dataclass(frozen=True, slots=True)
class Matches:
    """Where it was found."""

    matches: tuple[Match, ...]
    files: int
    """How many files were searched."""
    skipped: int
    """How many files were not: binary, too large, not to be read."""
    cut: str = ""
    """Why there may be more. Empty if these are all."""
