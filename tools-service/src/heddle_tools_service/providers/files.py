"""Reads files from one folder, each creator's from a subfolder of their own, and uploaded files.

An identifier such as `file-` and 32 hexadecimal digits names a file that the assistant's owner has
uploaded to the knowledge service; everything else is a path within the folder. The first component
of a path decides whose file it is:

- a number, as in `1/notes.md`, or an e-mail address is a creator's folder, readable for
  assistants whose owner is that number or address, or is the user with that number in imported
  data;
- everything else, such as `docs/guide.md` or `guide.md`, is for all.

Paths that begin with `library:` name documents of the library server.
"""

import asyncio
import errno
import os
import re
import stat
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import structlog
from heddle.knowledge.v1 import files_pb2 as pb
from heddle.knowledge.v1.files_pb2_grpc import FileServiceAsyncStub
from heddle_runtime.errors import HeddleError

from heddle_tools_service.capabilities.files import FileText, is_uploaded
from heddle_tools_service.providers.knowledge.client import NOT_FOUND, KnowledgeClient
from heddle_tools_service.providers.library import PREFIX, LibraryServer
from heddle_tools_service.sdk import Assistant, ToolError, ToolUnavailableError
from heddle_tools_service.workspace.openat import open_beneath

log = structlog.get_logger(__name__)
_CREATOR = re.compile(r"[0-9]+|[^@]+@[^@]+")
_INVALID = "Invalid file path"
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_REFUSED = frozenset({errno.ELOOP, errno.ENAMETOOLONG, errno.EISDIR, errno.EINVAL, errno.ENXIO})
NumberOf = Callable[[str, str], Awaitable[int | None]]
"""Returns the number of an organisation's user in imported data; None if there is none."""


@dataclass(frozen=True, slots=True)
class UploadedFiles:
    """The files of the owner of an assistant."""

    service: FileServiceAsyncStub
    client: KnowledgeClient

    async def read(self, identifier: str, max_chars: int) -> FileText:
        """Return the beginning of the text of a file, as `Files.read` says."""
        request = pb.GetFileTextRequest(id=identifier, max_characters=max_chars)
        try:
            response = await self.client.ask(self.service.GetFileText, request)
        except ToolUnavailableError:
            raise
        except ToolError as error:
            if error.kind == NOT_FOUND:
                raise ToolError(
                    f"File not found: {identifier}. It is deleted, or the owner of the assistant "
                    "has not uploaded it.",
                    kind=NOT_FOUND,
                ) from error
            raise ToolError(f"Failed to read file: {error}", kind=error.kind) from error
        return FileText(response.file.filename, response.text, response.truncated)


@dataclass(frozen=True, slots=True)
class AssistantFiles:
    """The files that an assistant may read: the capability `Files`."""

    root: Path
    number_of: NumberOf | None
    """None if no service knows the numbers of users."""
    assistant: Assistant
    uploads: UploadedFiles | None = None
    """None if no service has uploaded files."""
    library: LibraryServer | None = None
    """None if there is no library server."""

    async def read(self, path: str, max_chars: int) -> FileText:
        """Return the beginning of a file, or of a document of a library."""
        if is_uploaded(path):
            if self.uploads is None:
                raise ToolError(f"File not found: {path}")
            return await self.uploads.read(path, max_chars)
        if self.library is not None and path.startswith(PREFIX):
            return await self.library.read(path, max_chars)
        components = _components(path)
        # Checked before the file is opened, so that users do not learn which files others have.
        if len(components) > 1 and not await self._may_read(components[0]):
            raise ToolError(_INVALID)
        return await asyncio.to_thread(self._read, path, components, max_chars)

    def _read(self, path: str, components: list[str], max_chars: int) -> FileText:
        try:
            text = _beginning(self.root, components, max_chars + 1)
        except UnicodeDecodeError as error:
            raise ToolError("Failed to read file: it is not UTF-8 text") from error
        except OSError as error:
            if error.errno in _ABSENT:
                raise ToolError(f"File not found: {path}") from error
            if error.errno in _REFUSED:
                raise ToolError(_INVALID) from error
            raise ToolError(f"Failed to read file: {os.strerror(error.errno or 0)}") from error
        if "\0" in text:
            raise ToolError("Failed to read file: it is not text")
        return FileText(path, text[:max_chars], truncated=len(text) > max_chars)

    async def _may_read(self, folder: str) -> bool:
        if not _CREATOR.fullmatch(folder) or folder.casefold() == self.assistant.owner.casefold():
            return True
        return folder.isdecimal() and folder == await self._number()

    async def _number(self) -> str:
        if self.number_of is None:
            return ""
        try:
            number = await self.number_of(self.assistant.organization, self.assistant.owner)
        except HeddleError as error:
            log.error("number of a user is unavailable", reason=error.reason)  # noqa: TRY400 - the other service is at fault
            raise ToolUnavailableError(
                "Failed to read file: the owner of its folder cannot be determined at the moment"
            ) from None
        return "" if number is None else str(number)


def _components(path: str) -> list[str]:
    """Return the components of a path, or refuse it: absolute, with `..`, hidden, unprintable."""
    components = path.split("/")
    if any(not part or part.startswith(".") for part in components):
        raise ToolError(_INVALID)
    if "\\" in path or any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in path):
        raise ToolError(_INVALID)
    return components


def _beginning(root: Path, components: list[str], max_chars: int) -> str:
    base = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        descriptor = open_beneath(base, components)
    finally:
        os.close(base)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a FIFO or a device may never end
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with os.fdopen(descriptor, encoding="utf-8-sig", newline="", closefd=False) as file:
            return file.read(max_chars)
    finally:
        os.close(descriptor)
