"""One row for each limit: what is checked against it, as a function of a size."""

import asyncio
import inspect
from datetime import timedelta
from importlib import import_module

import grpc
from boundaries.rows import (
    assistants,
    commands,
    connector,
    gateway,
    knowledge,
    runtime,
    tools,
    workspaces,
)
from boundaries.rows.forms import Check
from heddle_runtime.errors import HeddleError

_PARTS = (assistants, commands, connector, gateway, knowledge, runtime, tools, workspaces)
_FAULTS = (TypeError, AttributeError, LookupError, AssertionError, RecursionError, MemoryError)
ROWS: dict[str, Check] = {limit: row for part in _PARTS for limit, row in part.ROWS.items()}
"""By limit."""
SLOW = frozenset(
    {
        "heddle_assistants.usage.entries.MOST",
        "heddle_gateway.openai.chat.content_parts.MAX_MEDIA_BYTES",
        "heddle_knowledge.formats.archives.MOST_FILES",
        "heddle_knowledge.formats.pdf.MOST_PAGES",
        "heddle_runtime.contract.limits.MAX_MESSAGE_BYTES",
        "heddle_tools_service.contract.results._MAX_SOURCES_BYTES",
        "heddle_tools_service.workspace.limits.MAX_VISITED",
    }
)
"""Limits whose rows take long."""


def value(limit: str) -> int:
    """Return the value of a limit."""
    module, _, name = limit.rpartition(".")
    number = getattr(import_module(module), name)
    return int(number.total_seconds()) if isinstance(number, timedelta) else int(number)


def refusal(check: Check, size: int) -> object:
    """Return the error with which a check refuses a size, or what is true if it does so otherwise.

    Raises:
        Exception: The check itself fails.
    """
    try:
        result = check(size)
        return asyncio.run(result) if inspect.iscoroutine(result) else result
    except _FAULTS:
        raise
    except Exception as error:  # noqa: BLE001 - the classes of all members that refuse something
        return error


def names(error: Exception, limit: int) -> bool:
    """Return whether the texts of an error name a limit, or the value that is too large by one."""
    texts = [str(error)]
    if isinstance(error, HeddleError):
        texts += [error.diagnosis, *(each.description for each in error.violations)]
    ways = {f"{limit}", f"{limit:,}", f"{limit >> 20:,} MiB", f"{limit + 1}"}
    if limit == timedelta(days=1).total_seconds():
        ways.add("a day")
    return any(way in text for text in texts for way in ways)


def is_internal(error: Exception) -> bool:
    """Return whether callers would read that the service is at fault."""
    return isinstance(error, HeddleError) and error.code is grpc.StatusCode.INTERNAL
