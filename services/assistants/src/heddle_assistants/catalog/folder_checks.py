"""Checks the assistants of the folder in the background, and logs their faults with their lines."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import structlog
from heddle_conversion.assistant_file import AssistantFile, FileFault
from heddle_conversion.assistant_json import contains
from heddle_runtime.errors import Violation

from heddle_assistants.store import StoredAssistant
from heddle_assistants.validation import Validation

_RETRY_SECONDS = 2.0
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class CheckedFile:
    """A file and its assistant."""

    path: Path
    file: AssistantFile
    stored: StoredAssistant


class FolderChecks:
    """Checks the files that were read last. While the orchestrator is unreachable, it retries."""

    def __init__(self, validation: Validation) -> None:
        self._validation = validation
        self._task: asyncio.Task[None] | None = None

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[Self]:
        """Stop the check that runs when the block ends."""
        try:
            yield self
        finally:
            if self._task is not None:
                self._task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await self._task

    def start(self, files: Sequence[CheckedFile]) -> None:
        """Check the assistants of files, and stop checking those of earlier calls.

        Their faults become warnings of the stored assistants.
        """
        if self._task is not None:
            self._task.cancel()
        self._task = asyncio.create_task(self._check(files)) if files else None

    async def _check(self, files: Sequence[CheckedFile]) -> None:
        assistants = [each.file.assistant for each in files]
        while True:
            try:
                findings = await self._validation.check_batch(assistants)
            except Exception:  # nothing awaits this task: an error must not end it silently
                log.exception("assistants of the folder not checked")
                return
            if not any(each.unchecked for each in findings):
                break
            await asyncio.sleep(_RETRY_SECONDS)
        for each, file_findings in zip(files, findings, strict=True):
            faults = [each.file.fault(v.field, v.description) for v in file_findings.violations]
            known = {warning.field for warning in each.stored.warnings}
            faults = [fault for fault in faults if not contains(known, fault.field)]
            report(each.path, faults)
            each.stored.warnings.extend(map(warning_of, faults))


def report(path: Path, faults: Iterable[FileFault]) -> None:
    """Log the faults of a file."""
    for fault in faults:
        log.warning(
            "assistant has a fault",
            file=path.name,
            line=fault.line,
            field=fault.field,
            problem=fault.problem,
        )


def warning_of(fault: FileFault) -> Violation:
    """Return a fault as a warning for those who read the assistant."""
    return Violation(fault.field, f"{fault.problem} (line {fault.line} of the file)")
