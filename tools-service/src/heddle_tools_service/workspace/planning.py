"""Determines what a patch writes, without writing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from heddle_tools_service.capabilities.workspace import ChangedFile, Edit, FileEdits
from heddle_tools_service.workspace import jail
from heddle_tools_service.workspace.applying import apply
from heddle_tools_service.workspace.commit import Write
from heddle_tools_service.workspace.diffs import unified
from heddle_tools_service.workspace.errors import WorkspaceError, about, first_of
from heddle_tools_service.workspace.hunks import Hunk, hunk
from heddle_tools_service.workspace.jail import Image, Jail
from heddle_tools_service.workspace.limits import (
    MAX_EDITS,
    MAX_FILE_BYTES,
    MAX_FILES,
    MAX_PATCH_BYTES,
)
from heddle_tools_service.workspace.paths import components
from heddle_tools_service.workspace.texts import Text, decode, encode

_MAX_EXPLAINED = 3
_NEW_MODE = 0o644


@dataclass(frozen=True, slots=True)
class Planned:
    """A file of a patch: its planned change, and the report of it."""

    write: Write
    changed_file: ChangedFile


def plan(area: Jail, files: Sequence[FileEdits], *, relocate: bool) -> list[Planned]:
    """Return the planned result of all files.

    Raises:
        WorkspaceError: The first problem, and the first few others with it.
    """
    _check_number(files)
    planned: list[Planned] = []
    problems: list[WorkspaceError] = []
    for file in files:
        try:
            planned.append(_plan_file(area, file, relocate=relocate))
        except WorkspaceError as error:
            problems.append(error)
            if len(problems) == _MAX_EXPLAINED:
                break
    if problems:
        raise first_of(problems)
    if sum(len(one.write.after or b"") for one in planned) > MAX_PATCH_BYTES:
        message = (
            f"The files have more than {MAX_PATCH_BYTES:,} bytes together: patch fewer at once."
        )
        raise WorkspaceError("invalid_arguments", message)
    return planned


def read(area: Jail, path: str) -> Image:
    """Return a file of the workspace.

    Raises:
        WorkspaceError: There is none, or none that may be read.
    """
    *folders, name = components(path)
    with about(path), area.folder(folders) as parent:
        return jail.read(parent, name, path)


def read_if_present(area: Jail, path: str) -> Image | None:
    """Return a file of the workspace; None if there is none.

    Raises:
        WorkspaceError: There is one that may not be read.
    """
    try:
        return read(area, path)
    except WorkspaceError as error:
        if error.kind == "not_found":
            return None
        raise


def _check_number(files: Sequence[FileEdits]) -> None:
    paths = ["/".join(components(file.path)) for file in files]
    twice = next((path for path in paths if paths.count(path) > 1), None)
    if twice is not None:
        message = f"{twice!r} is named twice: put all of its changes together."
        raise WorkspaceError("invalid_arguments", message)
    if len(files) > MAX_FILES:
        message = f"At most {MAX_FILES} files can be changed at once."
        raise WorkspaceError("invalid_arguments", message)


def _plan_file(area: Jail, file: FileEdits, *, relocate: bool) -> Planned:
    if not 1 <= len(file.edits) <= MAX_EDITS:
        message = f"{file.path!r}: changes must have 1 to {MAX_EDITS} items."
        raise WorkspaceError("invalid_arguments", message)
    before = None if file.create else _present(area, file)
    if file.create and read_if_present(area, file.path) is not None:
        message = f"{file.path!r} exists already. Read it and change it without create."
        raise WorkspaceError("conflict", message)
    text = decode(before.data if before else b"", file.path)
    edits = [_whole(file)] if file.create else file.edits
    hunks = list(_hunks(file.path, text, edits, relocate=relocate))
    try:
        applied = apply(text, hunks)
    except WorkspaceError as error:
        raise WorkspaceError(error.kind, f"{file.path}: {error}") from None
    after = encode(applied.new)
    if len(after) > MAX_FILE_BYTES:
        message = f"{file.path!r} would have more than {MAX_FILE_BYTES:,} bytes. Split it."
        raise WorkspaceError("invalid_arguments", message)
    path = "/".join(components(file.path))
    diff, added, removed = unified(path, applied, created=file.create)
    changed_file = ChangedFile(
        path=path,
        status="created" if file.create else "changed" if diff else "unchanged",
        sha256=sha256(after).hexdigest(),
        changes=applied.changes,
        diff=diff,
        added=added,
        removed=removed,
    )
    mode = before.mode if before else _NEW_MODE
    return Planned(Write(path, before, after, mode), changed_file)


def _present(area: Jail, file: FileEdits) -> Image:
    try:
        text = read(area, file.path)
    except WorkspaceError as error:
        if error.kind != "not_found":
            raise
        message = f"{error} To make it, set create to true."
        raise WorkspaceError("not_found", message) from None
    if not text.digest.startswith(file.sha256.lower()):
        raise WorkspaceError(
            "conflict",
            f"{file.path!r} is not what you read: its sha256 is {text.digest}. Read it again.",
        )
    return text


def _whole(file: FileEdits) -> Edit:
    edit = file.edits[0]
    if len(file.edits) > 1 or edit.old or edit.first not in (None, 1) or edit.last not in (None, 0):
        message = (
            f"{file.path!r}: a new file has one change, with an empty old_content and all of the "
            "file as new_content."
        )
        raise WorkspaceError("invalid_arguments", message)
    return Edit(edit.new, "", 1, 0, edit.reason)


def _hunks(path: str, text: Text, edits: Sequence[Edit], *, relocate: bool) -> Iterator[Hunk]:
    problems: list[WorkspaceError] = []
    for index, edit in enumerate(edits):
        try:
            yield hunk(text, index, edit, relocate=relocate)
        except WorkspaceError as error:
            problems.append(WorkspaceError(error.kind, f"changes[{index}] of {path}: {error}"))
            if len(problems) == _MAX_EXPLAINED:
                break
    if problems:
        raise first_of(problems)
