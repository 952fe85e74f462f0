"""Assistants in a folder, one YAML or JSON file each."""

import asyncio
import hashlib
import time
from dataclasses import dataclass, field
from pathlib import Path

import structlog
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.assistant_file import AssistantFile, AssistantFileError, FileFault, read_file
from heddle_conversion.bindings import fillable
from heddle_conversion.identifiers import FILE_PREFIX
from heddle_conversion.processors import current_connector
from heddle_runtime.contract.email_address import canonical_email

from heddle_assistants.catalog.checking import file_violations, violations_of, with_defaults
from heddle_assistants.catalog.folder_checks import (
    CheckedFile,
    FolderChecks,
    report,
    warning_of,
)
from heddle_assistants.field_checks import deprecated_connector
from heddle_assistants.store import StoredAssistant

log = structlog.get_logger(__name__)
_ENDINGS = {".yaml", ".yml", ".json"}
_ACCESS = {"owner", "organization", "published"}
"""Members that say who may use an assistant."""
_LOOK_AGAIN = 1.0  # seconds between two looks at the folder
State = tuple[int, int]
"""A file's time of change in nanoseconds, and its size."""


@dataclass(slots=True)
class Contents:
    """The content of the folder when it was last read."""

    states: dict[Path, State | None] = field(default_factory=dict)
    files: list[CheckedFile] = field(default_factory=list)
    by_id: dict[str, StoredAssistant] = field(default_factory=dict)
    by_name: dict[str, StoredAssistant] = field(default_factory=dict)


class FolderAssistants:
    """Reads the folder when it has changed, at most once a second.

    Faults of files are logged. Its assistant is available without the members that cannot
    be read. A file that is not YAML, or has no id or name, is left out.
    """

    def __init__(self, folder: Path, checks: FolderChecks) -> None:
        self._folder = folder
        self._checks = checks
        self._contents = Contents()
        self._looked = -_LOOK_AGAIN
        self._reading = asyncio.Lock()  # concurrent callers share one look at the folder

    async def contents(self) -> Contents:
        """Return the content of the folder."""
        async with self._reading:
            if time.monotonic() - self._looked >= _LOOK_AGAIN:
                contents = await asyncio.to_thread(_read, self._folder, self._contents)
                self._looked = time.monotonic()
                if contents is not self._contents:
                    self._checks.start(contents.files)
                    self._contents = contents
        return self._contents


def _read(folder: Path, known: Contents) -> Contents:
    states = {path: _state(path) for path in sorted(folder.glob("*")) if path.suffix in _ENDINGS}
    if states == known.states:
        return known
    contents = Contents(states)
    for path in states:
        try:
            checked = _parse(path)
        except (OSError, AssistantFileError) as error:
            log.error("assistant skipped", file=path.name, problem=str(error))  # noqa: TRY400 - the file is at fault, a traceback says nothing
            continue
        stored = checked.stored
        if stored.assistant.id in contents.by_id or stored.assistant.name in contents.by_name:
            log.error("assistant skipped", file=path.name, problem="its id or name is taken")
            continue
        contents.files.append(checked)
        contents.by_id[stored.assistant.id] = contents.by_name[stored.assistant.name] = stored
    return contents


def _state(path: Path) -> State | None:
    try:
        stat = path.stat()
    except OSError:  # it is gone, or what editors put beside a file: a link to nowhere
        return None
    return stat.st_mtime_ns, stat.st_size


def _parse(path: Path) -> CheckedFile:
    data = path.read_bytes()
    file = read_file(data)
    if unusable := file_violations(file.assistant):
        problems = (*file.faults, *(file.fault(v.field, v.description) for v in unusable))
        raise AssistantFileError("; ".join(map(str, problems)))
    faults = _faults(file)
    report(path, faults)
    model = file.assistant.model
    model.connector = current_connector(model.connector)
    assistant = pb.Assistant()
    assistant.CopyFrom(file.assistant)
    if not assistant.id.startswith(FILE_PREFIX):
        assistant.id = FILE_PREFIX + assistant.id
    assistant.owner = canonical_email(assistant.owner)
    del assistant.tools[:]
    assistant.tools.extend(each for each in file.assistant.tools if each.tool.strip())
    for binding in assistant.tools:
        if not fillable(binding.slot):
            binding.slot = ""
    # If it is not known who may use the assistant, only the operator may.
    published = file.published and not any(fault.field in _ACCESS for fault in faults)
    etag = hashlib.sha256(data).hexdigest()[:32]
    warnings = list(map(warning_of, faults))
    stored = StoredAssistant(with_defaults(assistant), etag, published, warnings, file.example)
    return CheckedFile(path, file, stored)


def _faults(file: AssistantFile) -> list[FileFault]:
    assistant = file.assistant
    deprecated = deprecated_connector(assistant.model.connector, "assistant.model.connector")
    violations = (*violations_of(assistant), *deprecated)
    more = [file.fault(each.field, each.description) for each in violations]
    return [*file.faults, *file.without_unread(more)]
