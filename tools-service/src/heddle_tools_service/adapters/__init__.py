"""Reads the tools of a module, in the format of the SDK or in an older one."""

from collections.abc import Iterable
from types import ModuleType

from heddle_tools_service.adapters import base_tools, tool_plugins
from heddle_tools_service.adapters.formats import Reader, installed
from heddle_tools_service.sdk import Tool


def tools_in(module: ModuleType | Tool) -> list[Tool]:
    """Return the tools of `module`. An entry point may also name a tool itself.

    The first format that fits counts, so that a module can serve an older host as well.

    Raises:
        DefinitionError: An older format that is incomplete; the message says what to change.
    """
    if isinstance(module, Tool):
        return [module]
    others = (read for each in installed() for read in each.readers)
    for read in (*_READERS, *others):
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


_READERS: tuple[Reader, ...] = (_native, base_tools.read, tool_plugins.read)
