"""Formats of tools that packages add, and the modules of other hosts that tools import."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import ModuleType

from heddle_runtime.serving import installed as packages

from heddle_tools_service.adapters import base_tools, tool_plugins
from heddle_tools_service.sdk import Tool

Reader = Callable[[ModuleType], Iterable[Tool]]
"""Returns the tools of a module in one format; none if the module has another format."""
_MODULES: Mapping[str, ModuleType] = {
    "app.tools._registry": tool_plugins,
    "agentsmithy_server.tools": base_tools,
    "agentsmithy_server.tools.base_tool": base_tools,
}


@dataclass(frozen=True, eq=False)
class ToolFormat:
    """A format of tools, which a package registers as an entry point of `heddle.tools.formats`."""

    readers: Sequence[Reader]
    modules: Mapping[str, ModuleType]
    """The modules that tools of another host import, by their names there."""


@cache
def installed() -> tuple[ToolFormat, ...]:
    """Return the formats of the installed packages."""
    return tuple(each for _, each in packages.installed("heddle.tools.formats"))


def make_importable() -> None:
    """Register stand-ins for the modules of other hosts, so that files can import them."""
    modules = {**_MODULES}
    for each in installed():
        modules |= each.modules
    hosts = {name.partition(".")[0] for name in modules}
    missing = {host for host in hosts if host not in sys.modules and find_spec(host) is None}
    for name, module in modules.items():
        host, *others = name.split(".")
        if host not in missing:
            continue
        parent = _package(host)
        for other in others[:-1]:
            child = _package(f"{parent.__name__}.{other}")
            setattr(parent, other, child)
            parent = child
        setattr(parent, others[-1], module)
        sys.modules[name] = module


def _package(name: str) -> ModuleType:
    package = sys.modules.setdefault(name, ModuleType(name))
    if not hasattr(package, "__path__"):
        package.__path__ = []
    return package
