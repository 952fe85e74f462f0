"""The caller's workspace: a folder for each organisation, and in it one for each user.

The signed identity of the call selects it; no model and no member of the request can.
"""

import asyncio
import os
import string
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TypeVar, cast
from zlib import crc32

import structlog
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION

from heddle_tools_service.capabilities.workspace import (
    Area,
    FileEdits,
    FileQuery,
    Listing,
    Matches,
    Page,
    Patched,
)
from heddle_tools_service.sdk import Caller, ToolError, ToolUnavailableError
from heddle_tools_service.threads import Threads
from heddle_tools_service.workspace.engine import IsWaitedFor, Workspace
from heddle_tools_service.workspace.errors import WorkspaceError
from heddle_tools_service.workspace.jail import Jail
from heddle_tools_service.workspace.paths import components, folder_components
from heddle_tools_service.workspace.state import State

log = structlog.get_logger(__name__)
STATE = ".state"
"""The folder of the service's own data of all workspaces."""
_NOBODY = "~"
_SHARED = "~shared"
_PLAIN = frozenset(f"{string.ascii_lowercase}{string.digits}@_-.")
_MAX_NAME_CHARS = 200
_QUEUES = 64
ResultT = TypeVar("ResultT")


@dataclass(frozen=True, slots=True)
class CallersWorkspace:
    """The workspace of a caller, or of the caller's organisation: the capability `Workspace`."""

    root: Path
    """The folder of all workspaces."""
    threads: Threads
    caller: Caller

    async def patch(
        self,
        area: Area,
        files: Sequence[FileEdits],
        *,
        dry_run: bool = False,
        relocate: bool = False,
    ) -> Patched:
        """Change all `files`, or none."""

        def work(engine: Workspace, is_waited_for: IsWaitedFor) -> Patched:
            _check(area, *(file.path for file in files))
            return engine.patch(files, is_waited_for, dry_run=dry_run, relocate=relocate)

        return await self._run(area, work)

    async def restore(
        self, area: Area, identifier: str, *, path: str = "", force: bool = False
    ) -> Patched:
        """Undo a patch."""

        def work(engine: Workspace, is_waited_for: IsWaitedFor) -> Patched:
            _check(area, *([path] if path else engine.touched(identifier)))
            return engine.restore(identifier, is_waited_for, path=path, force=force)

        return await self._run(area, work)

    async def page(self, area: Area, path: str, first: int = 1, last: int | None = None) -> Page:
        """Return some lines of a file."""

        def work(engine: Workspace, _: IsWaitedFor) -> Page:
            _check(area, path)
            return engine.page(path, first, last)

        return await self._run(area, work)

    async def entries(
        self, area: Area, folder: str, pattern: str, *, depth: int, most: int
    ) -> Listing:
        """Return the content of a folder."""
        return await self._run(
            area, lambda engine, _: engine.list(_below(area, folder), pattern, depth, most)
        )

    async def find(self, area: Area, query: FileQuery) -> Matches:
        """Return the lines of files that match."""
        return await self._run(
            area,
            lambda engine, _: engine.search(replace(query, folder=_below(area, query.folder))),
        )

    async def _run(self, area: Area, work: Callable[[Workspace, IsWaitedFor], ResultT]) -> ResultT:
        """Do work in a thread. A patch whose caller was cancelled is not written."""
        cancelled = threading.Event()
        organization = folder_name(self.caller.organization or DEFAULT_ORGANIZATION)
        person = folder_name(self.caller.subject) or _NOBODY
        names = organization, _SHARED if area.shared else person
        engine = Workspace(Jail(self.root, names), State(self.root.joinpath(STATE, *names)))
        try:
            result = await self.threads.run(
                # One of some queues, so that most people do not wait for others.
                f"workspace-{crc32('/'.join(names).encode()) % _QUEUES}",
                lambda: work(engine, lambda: not cancelled.is_set()),
            )
        except asyncio.CancelledError:
            cancelled.set()
            raise
        except WorkspaceError as error:
            raise _as_tool_error(error) from None
        except OSError as error:
            log.exception("workspace failed")
            message = f"The workspace cannot be used: {os.strerror(error.errno or 0)}."
            raise ToolUnavailableError(message) from error
        return cast("ResultT", result)


def _check(area: Area, *paths: str) -> None:
    permitted = folder_components(area.folder)
    for path in paths:
        if components(path)[: len(permitted)] != permitted:
            raise WorkspaceError(
                "path_denied", f"{path!r} is refused: only {'/'.join(permitted)}/ is open here."
            )


def _below(area: Area, folder: str) -> str:
    """Return the path of a folder; for an empty name that of the permitted folder."""
    path = "/".join(folder_components(folder))
    if not path:
        return "/".join(folder_components(area.folder))
    _check(area, path)
    return path


def folder_name(name: str) -> str:
    """Return a folder name for an organisation or a person, different for each.

    Capitals are written out, for some disks do not tell them from small letters.
    """
    signs = [sign if sign in _PLAIN else _written_out(sign) for sign in name]
    if signs and signs[0] == ".":
        signs[0] = _written_out(".")
    written = "".join(signs)
    return (
        written
        if len(written) <= _MAX_NAME_CHARS
        else f"~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()}"
    )


def _written_out(sign: str) -> str:
    return "".join(f"%{byte:02x}" for byte in sign.encode("utf-8", "surrogatepass"))


def _as_tool_error(error: WorkspaceError) -> ToolError:
    if error.kind == "storage":
        return ToolUnavailableError(str(error), kind=error.kind)
    details = {"problems": list(error.problems)} if len(error.problems) > 1 else {}
    return ToolError(str(error), kind=error.kind, details=details)
