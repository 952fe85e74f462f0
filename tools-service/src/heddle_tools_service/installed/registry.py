"""The installed tools. They are loaded at start only: a request names a tool."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import structlog
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import NotFoundError
from heddle_runtime.errors.conditions import Check, Condition
from heddle_runtime.serving.plugins import Plugins, Problem, discover
from heddle_runtime.serving.readiness import listed

from heddle_tools_service import tools
from heddle_tools_service.adapters import tools_in
from heddle_tools_service.adapters.formats import make_importable
from heddle_tools_service.contract.descriptions import description
from heddle_tools_service.definitions.capability_injection import Capabilities
from heddle_tools_service.installed.tool import Installed, install
from heddle_tools_service.sdk import Tool
from heddle_tools_service.workers.tools import PluginTool

log = structlog.get_logger(__name__)
ENTRY_POINTS = "heddle.tools"
KIND = "tool"
NO_CAPABILITIES = Capabilities()
_MAX_NAME_CHARS = 80


def builtin(capabilities: Capabilities, disabled: Collection[str]) -> Plugins[Any]:
    """Return Heddle's own tools.

    Args:
        capabilities: The capabilities that tools can request.
        disabled: The names of tools that the operator has switched off.
    """
    read = partial(_installed, capabilities=capabilities, disabled=disabled)
    return discover(tools, "", None, read, KIND)


def report_obstacles(plugins: Plugins[Installed]) -> None:
    """Report the tools that switch themselves off in every conversation."""
    for name, installed in plugins.loaded.items():
        if installed.tool.obstacle:
            message = f"The tool {name!r} is never called: {installed.tool.obstacle}"
            plugins.report(plugins.origins[name], message, "tool can never be called")


class Registry:
    """The installed tools by name, and what could not be installed."""

    def __init__(self, plugins: Plugins[Any], disabled: Collection[str] = ()) -> None:
        """Create a registry.

        Args:
            plugins: The tools, of the classes `Installed` and `PluginTool`.
            disabled: The names of tools that the operator has switched off.
        """
        for name in set(disabled) - plugins.loaded.keys():
            log.warning("a tool that is switched off is not installed", tool=name)
        known = sorted(plugins.loaded.items())
        self._installed = {name: each for name, each in known if isinstance(each, Installed)}
        self._plugins = {name: each for name, each in known if isinstance(each, PluginTool)}
        self.problems: tuple[Problem, ...] = tuple(plugins.problems)
        self._descriptions = {
            name: description(each.tool, plugins.origins[name])
            if isinstance(each, Installed)
            else each.description
            for name, each in known
        }

    @classmethod
    def discover(
        cls, folder: Path | None, capabilities: Capabilities, disabled: Collection[str] = ()
    ) -> "Registry":
        """Return Heddle's tools, those of installed distributions, and those of `folder`.

        Args:
            folder: The mounted folder of plugins, if there is one.
            capabilities: The capabilities that tools can request.
            disabled: The names of tools that the operator has switched off.
        """
        make_importable()
        read = partial(_installed, capabilities=capabilities, disabled=disabled)
        plugins = discover(tools, ENTRY_POINTS, folder, read, KIND)
        report_obstacles(plugins)
        return cls(plugins, disabled)

    @classmethod
    def of(cls, *tools: Tool, capabilities: Capabilities = NO_CAPABILITIES) -> "Registry":
        """Return a registry of these tools."""
        plugins: Plugins[Installed] = Plugins(KIND)
        for tool in tools:
            plugins.add(install(tool, capabilities), "builtin")
        return cls(plugins)

    def __iter__(self) -> Iterator[Installed]:
        """Iterate over the tools that run in this process, in the order of names."""
        return iter(self._installed.values())

    @property
    def descriptions(self) -> Iterable[pb.Tool]:
        """The descriptions of all tools for clients, in the order of names."""
        return self._descriptions.values()

    def description(self, name: str) -> pb.Tool:
        """Return a tool as clients see it.

        Raises:
            NotFoundError: There is none of this name.
        """
        if name not in self._descriptions:
            raise _not_found(name)
        return self._descriptions[name]

    def plugin(self, name: str) -> PluginTool | None:
        """Return a tool that runs in a process of its own; None if it is no such tool."""
        return self._plugins.get(name)

    @property
    def plugin_tools(self) -> Iterable[PluginTool]:
        """The tools that run in processes of their own, in the order of names."""
        return self._plugins.values()

    def get(self, name: str) -> Installed:
        """Return the tool called `name`, which runs in this process.

        Raises:
            NotFoundError: There is none.
        """
        try:
            return self._installed[name]
        except KeyError:
            raise _not_found(name) from None


def _not_found(name: str) -> NotFoundError:
    shown = name[:_MAX_NAME_CHARS]
    return NotFoundError(f"No tool is named {shown!r}.", tool=shown)


def _installed(
    module: ModuleType, capabilities: Capabilities, disabled: Collection[str]
) -> Iterator[Installed]:
    return (install(tool, capabilities, disabled) for tool in tools_in(module))


def tools_check(registry: Registry) -> Check:
    """Return the check that counts the tools of each place and reports those with problems."""

    async def check() -> Condition:
        failing = [
            Problem(f"{tool.description.origin}, tool {tool.name}", tool.problem)
            for tool in registry.plugin_tools
            if tool.problem
        ]
        problems = listed([*registry.problems, *failing])
        places = Counter(each.isolation for each in registry.descriptions)
        counts = f"Tools in the service: {places[pb.TOOL_ISOLATION_SERVICE]}. "
        counts += f"Tools in processes of their own: {places[pb.TOOL_ISOLATION_PROCESS]}."
        return Condition(problems, summary=counts)

    return check
