"""Reads and logs the failures of tools."""

import structlog
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ResourceExhaustedError,
    UnavailableError,
)
from heddle_runtime.telemetry import log_fields

log = structlog.get_logger(__name__)
_TRANSIENT = (UnavailableError, DeadlineError, ResourceExhaustedError)


def log_lost_tool(tool: str, reason: str, message: str) -> None:
    """Log for operators that an answer does without a tool."""
    log_fields.current().degraded = "tool"
    log.warning("answer without a tool", tool=tool, reason=reason, error=message)


def is_recoverable(failure: HeddleError) -> bool:
    """Return whether the same call may succeed later.

    A tool states it in the details of its error. Otherwise, only a dependency that is unavailable,
    slow or busy may recover.
    """
    recoverable = details(failure).get("recoverable")
    return recoverable if isinstance(recoverable, bool) else isinstance(failure, _TRANSIENT)


def suggestion(failure: HeddleError) -> str:
    """Return the tool's suggestion for another attempt; empty if it makes none."""
    text = details(failure).get("suggestion", "")
    return text if isinstance(text, str) else ""


def details(failure: HeddleError) -> dict[str, object]:
    """Return the details of a tool's error."""
    return members(failure.metadata.get("details_json", ""))
