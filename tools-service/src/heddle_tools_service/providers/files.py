"""Reads files from one folder, each creator's from a subfolder of their own.

The first component of a path decides whose file it is:

- a number, as in LAMB's `1/notes.md`, or an e-mail address is a creator's folder, readable for
  assistants whose owner is that number or address;
- a file `.owners.yaml` in the root, of lines such as `1: ana@example.org`, names the owners of
  folders; it goes before the rule above and can claim any folder;
- everything else, such as `docs/guide.md` or `guide.md`, is for all.
"""

import asyncio
import errno
import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

import structlog
import yaml

from heddle_tools_service.providers.confined import open_beneath
from heddle_tools_service.sdk import Assistant, FileText, ToolError

log = structlog.get_logger(__name__)
OWNERS = ".owners.yaml"
_CREATOR = re.compile(r"[0-9]+|[^@]+@[^@]+")
_INVALID = "Invalid file path"
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR})
_REFUSED = frozenset(
    {errno.ELOOP, errno.EXDEV, errno.ENAMETOOLONG, errno.EISDIR, errno.EINVAL, errno.ENXIO}
)


@dataclass(frozen=True, slots=True)
class FileFolder:
    """The folder that `single_file` reads from."""

    root: Path

    def of(self, assistant: Assistant) -> "AssistantFiles":
        """Return the files that `assistant` may read."""
        return AssistantFiles(self, assistant)

    def owner(self, folder: str) -> str:
        """Return whose folder it is; empty if it is for all. Reads a file: call it in a thread."""
        try:
            named = yaml.safe_load((self.root / OWNERS).read_bytes()) or {}
            owners = {str(name).casefold(): str(owner) for name, owner in named.items()}
        except FileNotFoundError:
            owners = {}
        except (OSError, ValueError, AttributeError, yaml.YAMLError) as error:
            log.warning("owners not read", file=OWNERS, problem=type(error).__name__)
            raise ToolError(
                f"Failed to read file: {OWNERS} cannot be read, so nobody's files can be told"
            ) from error
        if (owner := owners.get(folder.casefold())) is not None:
            return owner
        return folder if _CREATOR.fullmatch(folder) else ""


@dataclass(frozen=True, slots=True)
class AssistantFiles:
    """Files in the name of an assistant's owner."""

    files: FileFolder
    assistant: Assistant

    async def read(self, path: str, most: int) -> FileText:
        """Return the beginning of a file; see `heddle_tools_service.sdk.Files`."""
        components = _components(path)
        return await asyncio.to_thread(self._read, path, components, most)

    def _read(self, path: str, components: list[str], most: int) -> FileText:
        # Judged before the disk is asked, so that nobody learns which files others have.
        if len(components) > 1 and not self._may_read(components[0]):
            raise ToolError(_INVALID)
        try:
            text = _beginning(_open(self.files.root, components), most + 1)
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
        return FileText(text[:most], truncated=len(text) > most)

    def _may_read(self, folder: str) -> bool:
        owner = self.files.owner(folder)
        return not owner or owner.casefold() == self.assistant.owner.casefold()


def _components(path: str) -> list[str]:
    """Return the components of a path, or refuse it: absolute, with `..`, hidden, unprintable."""
    components = path.split("/")
    if any(not part or part.startswith(".") for part in components):
        raise ToolError(_INVALID)
    if "\\" in path or any(unicodedata.category(sign) in {"Cc", "Cs"} for sign in path):
        raise ToolError(_INVALID)
    return components


def _open(root: Path, components: list[str]) -> int:
    base = os.open(root, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        return open_beneath(base, components)
    finally:
        os.close(base)


def _beginning(descriptor: int, most: int) -> str:
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # a FIFO or a device may never end
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        with open(descriptor, encoding="utf-8-sig", newline="", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(descriptor)
