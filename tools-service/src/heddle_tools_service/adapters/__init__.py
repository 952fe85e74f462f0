"""Reads the tools that a module holds, in our own shape or in an older one."""

from collections.abc import Callable, Iterable
from types import ModuleType

from heddle_tools_service.adapters import (
    base_tools,
    rag_processors,
    tool_plugins,
    tool_processors,
)
from heddle_tools_service.sdk import Tool

Reader = Callable[[ModuleType], Iterable[Tool]]


def tools_in(module: ModuleType | Tool) -> list[Tool]:
    """Return the tools of `module`. An entry point may also name a tool itself.

    The first shape that fits counts, so that a module can serve an older host as well.

    Raises:
        DefinitionError: An older shape that is incomplete; the message says what to mend.
    """
    if isinstance(module, Tool):
        return [module]
    for read in _READERS:
        if tools := list(read(module)):
            return tools
    return []


def _native(module: ModuleType) -> Iterable[Tool]:
    """Yield the tools that `module` defines; not those that it only imports."""
    inside = f"{module.__name__}."
    seen: set[int] = set()
    for value in vars(module).values():
        if not isinstance(value, Tool) or id(value) in seen:
            continue
        seen.add(id(value))
        if f"{value.module}.".startswith(inside):
            yield value


_READERS: tuple[Reader, ...] = (
    *(_native, base_tools.read, tool_plugins.read),
    *(tool_processors.read, rag_processors.read),
)
