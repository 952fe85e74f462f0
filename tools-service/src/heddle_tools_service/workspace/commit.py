"""Writes all files of a patch, or none: whatever fails, and whenever the process is killed.

The patch is recorded on the disk before any file changes. While its record is in the journal, the
patch is not done: the next process that finds it there without a living writer restores the old
files. Renaming the record into the backup commits the patch.
"""

import errno
import os
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from hashlib import sha256

import structlog
from heddle_runtime.storage.durable_files import sync

from heddle_tools_service.workspace import jail
from heddle_tools_service.workspace.errors import WorkspaceError, about
from heddle_tools_service.workspace.jail import Image, Jail
from heddle_tools_service.workspace.paths import TEMPORARY
from heddle_tools_service.workspace.state import FileRecord, Record, State, save

log = structlog.get_logger(__name__)
# Another process has replaced the file: there is nothing to undo.
_MOVED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENXIO})


@dataclass(frozen=True, slots=True)
class Write:
    """A change of one file: its content before and after."""

    path: str
    """The components with `/` between."""
    before: Image | None
    """The current file; None if there is none."""
    after: bytes | None
    """The new content; None to delete the file."""
    mode: int
    """The permission bits that it is to have."""


@dataclass(frozen=True, slots=True)
class _Staged:
    write: Write
    parent: int
    name: str
    temporary: str


def commit(
    area: Jail, state: State, writes: Sequence[Write], is_waited_for: Callable[[], bool]
) -> str:
    """Write all files and return the id of the backup.

    The caller holds the locks of all paths.

    Args:
        area: The folder of the files.
        state: The folders of the journal and of the backups.
        writes: The changes; no two of the same path.
        is_waited_for: Whether the caller still waits. Called before the first file is replaced.

    Raises:
        WorkspaceError: Nothing was changed.
    """
    folders: dict[str, list[str]] = {}
    for write in writes:
        with about(write.path):
            missing = area.missing(write.path.split("/")) if write.before is None else []
        folders.update({"/".join(folder): folder for folder in missing})
    record = Record(
        (f"{time.time_ns():016x}{secrets.token_hex(4)}"),
        tuple(map(_recorded, writes)),
        tuple(folders),
    )
    with state.noted(record), ExitStack() as parents:
        staged: list[_Staged] = []
        try:
            _prepare(area, state, record, writes)
            for index, write in enumerate(writes):
                staged.append(_stage(area, write, _temporary(record, index), parents))
            _swap_all(area, staged, is_waited_for)
        except BaseException:
            # By the same descriptors: the path of a folder may lead elsewhere by now. If even this
            # fails the note stays, and the next one who comes tries again.
            for index, one in enumerate(staged):
                _undo_file(state, record, index, one.parent, one.name)
            _forget(area, state, record)
            raise
        state.finish(record)
    return record.id


def undo(area: Jail, state: State, record: Record) -> None:
    """Restore the files of a patch whose writer died, as far as they were replaced."""
    for index, file in enumerate(record.files):
        *folders, name = file.path.split("/")
        try:
            with area.folder(folders) as parent:
                _undo_file(state, record, index, parent, name)
        except OSError as error:
            if error.errno not in _MOVED:
                message = f"A patch of {file.path!r} was broken off and cannot be undone now."
                raise WorkspaceError("storage", message) from error
            if file.before is not None:
                log.warning("file of an undone patch is gone", patch=record.id, file=index)
    _forget(area, state, record)


def _forget(area: Jail, state: State, record: Record) -> None:
    for folder in reversed(record.folders):
        area.remove_folder(folder.split("/"))
    state.forget(record)


def _prepare(area: Jail, state: State, record: Record, writes: Sequence[Write]) -> None:
    backup = state.backup(record.id)
    backup.mkdir(mode=0o700)
    for index, write in enumerate(writes):
        if write.before is not None:
            save(backup / str(index), write.before.data)
    sync(backup)
    sync(backup.parent)
    for folder in record.folders:
        with about(folder):
            area.make_folder(folder.split("/"))


def _swap_all(area: Jail, staged: Sequence[_Staged], is_waited_for: Callable[[], bool]) -> None:
    if not is_waited_for():
        raise WorkspaceError("conflict", "The call of this patch was cancelled.")
    for one in staged:
        _check_still(area, one)
    for one in staged:
        with about(one.write.path):
            _swap(one)
    for parent in {one.parent for one in staged}:
        os.fsync(parent)


def _stage(area: Jail, write: Write, temporary: str, parents: ExitStack) -> _Staged:
    *folders, name = write.path.split("/")
    with about(write.path):
        parent = parents.enter_context(area.folder(folders))
        if write.after is not None:
            jail.write(parent, temporary, write.after, write.mode)
    return _Staged(write, parent, name, temporary)


def _check_still(area: Jail, one: _Staged) -> None:
    """Refuse to replace a file that has changed or moved since it was read."""
    with about(one.write.path), area.folder(one.write.path.split("/")[:-1]) as now:
        moved = not os.path.samestat(os.fstat(now), os.fstat(one.parent))
        before = one.write.before
        if moved or jail.stamp(one.parent, one.name) != (before.stamp if before else None):
            message = f"{one.write.path!r} changed while it was patched. Read it again."
            raise WorkspaceError("conflict", message)


def _swap(one: _Staged) -> None:
    here = one.parent
    if one.write.after is None:
        os.unlink(one.name, dir_fd=one.parent)
    elif one.write.before is None:  # a rename would replace what somebody made meanwhile
        os.link(one.temporary, one.name, src_dir_fd=here, dst_dir_fd=here, follow_symlinks=False)
        os.unlink(one.temporary, dir_fd=one.parent)
    else:
        os.replace(one.temporary, one.name, src_dir_fd=here, dst_dir_fd=here)


def _undo_file(state: State, record: Record, index: int, parent: int, name: str) -> None:
    file, temporary = record.files[index], _temporary(record, index)
    _remove(parent, temporary)
    if _digest(parent, name, file.path) != file.after:
        return  # not reached yet, or somebody else's work since
    if file.before is None:
        _remove(parent, name)
    else:
        data = (state.backup(record.id) / str(index)).read_bytes()
        jail.write(parent, temporary, data, file.mode)
        os.replace(temporary, name, src_dir_fd=parent, dst_dir_fd=parent)
    os.fsync(parent)


def _digest(parent: int, name: str, path: str) -> str | None:
    try:
        return jail.read(parent, name, path).digest
    except FileNotFoundError:
        return None
    except WorkspaceError:  # not what a patch writes
        return ""


def _remove(parent: int, name: str) -> None:
    try:
        os.unlink(name, dir_fd=parent)
    except FileNotFoundError:
        return


def _recorded(write: Write) -> FileRecord:
    after = None if write.after is None else sha256(write.after).hexdigest()
    if write.before is None:
        return FileRecord(write.path, None, after, write.mode)
    return FileRecord(write.path, write.before.digest, after, write.before.mode)


def _temporary(record: Record, index: int) -> str:
    return f"{TEMPORARY}{record.id}-{index}"
