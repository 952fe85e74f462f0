"""Assistants in a folder, one YAML or JSON file each."""

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog
import yaml
from google.protobuf import json_format
from heddle_conversion.assistant_json import PUBLISHED_MEMBER, FieldError, read_assistant
from heddle_runtime.errors import InvalidRequestError

from heddle_assistants.assistants.checking import check_file_assistant, with_defaults
from heddle_assistants.store import StoredAssistant

log = structlog.get_logger(__name__)
_ENDINGS = {".yaml", ".yml", ".json"}
# An endless number, a member whose name is a number, lists in lists without an end.
_ODD = (OverflowError, TypeError, RecursionError)
_UNREADABLE = (OSError, ValueError, yaml.YAMLError, json_format.Error, InvalidRequestError, *_ODD)
_LOOK_AGAIN = 1.0  # seconds between two looks at the folder
State = tuple[int, int]
"""A file's time of change in nanoseconds, and its size."""


@dataclass(slots=True)
class Contents:
    """The folder as it was read last. Nobody changes it."""

    files: dict[Path, State | None] = field(default_factory=dict)
    by_id: dict[str, StoredAssistant] = field(default_factory=dict)
    by_name: dict[str, StoredAssistant] = field(default_factory=dict)


class FolderAssistants:
    """Reads the folder when something in it changed, at most once a second.

    A file that cannot be read is logged and left out; the others stay.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._contents = Contents()
        self._looked = -_LOOK_AGAIN
        self._reading = asyncio.Lock()

    async def contents(self) -> Contents:
        """Return what is in the folder."""
        async with self._reading:
            if time.monotonic() - self._looked >= _LOOK_AGAIN:
                self._contents = await asyncio.to_thread(_read, self._folder, self._contents)
                self._looked = time.monotonic()
        return self._contents


def _read(folder: Path, known: Contents) -> Contents:
    files = {path: _state(path) for path in sorted(folder.glob("*")) if path.suffix in _ENDINGS}
    if files == known.files:
        return known
    contents = Contents(files)
    for path in files:
        try:
            stored = _parse(path)
        except _UNREADABLE as error:
            log.error("assistant skipped", file=path.name, problem=_explain(error))  # noqa: TRY400 - the file is at fault, a traceback says nothing
            continue
        assistant = stored.assistant
        if assistant.id in contents.by_id or assistant.name in contents.by_name:
            log.error("assistant skipped", file=path.name, problem="its id or name is taken")
            continue
        contents.by_id[assistant.id] = contents.by_name[assistant.name] = stored
    return contents


def _state(path: Path) -> State | None:
    try:
        stat = path.stat()
    except OSError:  # it is gone, or what editors put beside a file: a link to nowhere
        return None
    return stat.st_mtime_ns, stat.st_size


def _parse(path: Path) -> StoredAssistant:
    data = path.read_bytes()
    document = yaml.safe_load(data)  # JSON is YAML
    assistant = read_assistant(document)
    check_file_assistant(assistant)
    published = document.get(PUBLISHED_MEMBER, True)
    if not isinstance(published, bool):
        raise FieldError((PUBLISHED_MEMBER,), "must be true or false")
    etag = hashlib.sha256(data).hexdigest()[:32]
    return StoredAssistant(with_defaults(assistant), etag, published)


def _explain(error: Exception) -> str:
    if isinstance(error, InvalidRequestError):
        return "; ".join(f"{each.field} {each.description}" for each in error.violations)
    if isinstance(error, _ODD):
        return f"a tool's settings are none that JSON can hold: {error}"
    return str(error)
