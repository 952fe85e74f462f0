"""Assistants in a folder, one YAML or JSON file each."""

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog
import yaml
from pydantic import ValidationError

from heddle_migration_service.documents import AssistantDocument
from heddle_migration_service.store import Kept

log = structlog.get_logger(__name__)
_ENDINGS = {".yaml", ".yml", ".json"}
_LOOK_AGAIN = 1.0  # seconds between two looks at the folder


@dataclass(slots=True)
class Contents:
    """The folder as it was read last. Nobody changes it."""

    files: dict[Path, tuple[int, int]] = field(default_factory=dict)
    """Each file's time of change in nanoseconds, and size."""
    by_id: dict[str, Kept] = field(default_factory=dict)
    by_name: dict[str, Kept] = field(default_factory=dict)


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
    files = {
        path: (stat.st_mtime_ns, stat.st_size)
        for path in sorted(folder.glob("*"))
        if path.suffix in _ENDINGS and (stat := path.stat())
    }
    if files == known.files:
        return known
    contents = Contents(files)
    for path in files:
        try:
            kept = _parse(path)
        except (OSError, ValueError, yaml.YAMLError) as error:
            log.error("assistant skipped", file=path.name, problem=_explain(error))  # noqa: TRY400 - the file is at fault, a traceback says nothing
            continue
        assistant = kept.assistant
        if assistant.id in contents.by_id or assistant.name in contents.by_name:
            log.error("assistant skipped", file=path.name, problem="its id or name is taken")
            continue
        contents.by_id[assistant.id] = contents.by_name[assistant.name] = kept
    return contents


def _parse(path: Path) -> Kept:
    data = path.read_bytes()
    document = AssistantDocument.model_validate(yaml.safe_load(data))  # JSON is YAML
    etag = hashlib.sha256(data).hexdigest()[:32]
    return Kept(document.contract(), etag, document.published)


def _explain(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()
        )
    return str(error)
