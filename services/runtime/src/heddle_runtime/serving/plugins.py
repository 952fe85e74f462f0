"""Loads plugins of a package of Heddle, of installed distributions, and of a mounted folder.

A plugin that does not load is reported as a problem, and the others are loaded. If two plugins
have the same name, the first one is used: Heddle's before installed ones, those before mounted
ones. `PLUGIN_<NAME>=DISABLE` in the environment switches a plugin off.

In a mounted folder each `*.py` file is a plugin, except files whose name begins with `_`: these are
helpers. A plugin imports a helper relatively: `from ._helper import x`. An absolute import does not
find it, so that two folders can have helpers of the same name.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from importlib import import_module, invalidate_caches
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

import structlog

from heddle_runtime.redaction import redact
from heddle_runtime.serving.installed import points

log = structlog.get_logger(__name__)
_FOLDER = "folder:"


class Named(Protocol):
    """An object with a name, which every plugin is."""

    @property
    def name(self) -> str:
        """The unique name."""


PluginT = TypeVar("PluginT", bound=Named)
Load = Callable[[], ModuleType]


class NotAPluginError(ValueError):
    """The object that a file names as its plugin is not a plugin."""

    def __init__(self, finding: str, remedy: str) -> None:
        """Create the error.

        Args:
            finding: What is wrong, as the end of a sentence about the file. The log line has it.
            remedy: The remedy for the author.
        """
        self.finding = finding
        self.remedy = remedy
        super().__init__(f"{finding}. {remedy}")


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a plugin was skipped, or is of no use."""

    origin: str
    message: str
    event: str = "plugin skipped"
    """The event in the log."""


@dataclass(slots=True)
class Plugins(Generic[PluginT]):
    """The plugins that were loaded, by name, and the problems of the others."""

    kind: str = "plugin"
    """The kind of plugins: tool or connector."""
    loaded: dict[str, PluginT] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, plugin: PluginT, origin: str) -> None:
        """Add a plugin, unless its name is taken or the environment switches it off."""
        if os.environ.get(f"PLUGIN_{plugin.name.upper()}", "").strip().upper() == "DISABLE":
            log.info("plugin switched off", plugin=plugin.name, origin=origin)
            return
        if plugin.name in self.loaded:
            first = self.origins[plugin.name]
            self.report(origin, f"The name {plugin.name!r} is taken by {first}. Rename one.")
            return
        self.loaded[plugin.name] = plugin
        self.origins[plugin.name] = origin
        log.info("Loaded %s: %s", self.kind, plugin.name, origin=origin)

    def report(self, origin: str, message: str, event: str = "plugin skipped") -> None:
        """Store and log the problem of a plugin, as `event`."""
        message = redact(message)  # it may be the text of any exception
        self.problems.append(Problem(origin, message, event))
        log.warning(event, origin=origin, problem=message)

    def report_file(self, origin: str, finding: str, remedy: str) -> None:
        """Store and log that a file has no plugin."""
        file = origin.replace("folder:", f"{self.kind}s/", 1)
        self.report(origin, f"{file} {finding}. {remedy}", f"{file} {finding} \u2014 skipped")


def discover(
    package: ModuleType,
    group: str,
    folder: Path | None,
    read: Callable[[ModuleType], Iterable[PluginT]],
    kind: str = "plugin",
) -> Plugins[PluginT]:
    """Load all modules of plugins, and return the plugins in them.

    Args:
        package: Heddle's own package of plugins.
        group: The entry-point group of installed distributions.
        folder: The mounted folder, or None.
        read: Returns the plugins of a module, or raises an error whose message says how to fix it.
        kind: What the plugins are, for messages: tool or connector.
    """
    plugins: Plugins[PluginT] = Plugins(kind)
    for origin, load in _sources(package, group, folder):
        add_module(plugins, origin, lambda load=load: read(load()), folder)  # type: ignore[misc] # bound now
    check_folder(folder, plugins)
    return plugins


def add_module(
    plugins: Plugins[PluginT],
    origin: str,
    read: Callable[[], Iterable[PluginT]],
    folder: Path | None,
) -> None:
    """Add the plugins of a module, or report why there are none.

    Args:
        plugins: Changed in place.
        origin: Where the module is.
        read: Imports the module and returns its plugins.
        folder: The mounted folder, or None.
    """
    try:
        loaded = list(read())
    except KeyboardInterrupt:
        raise
    except NotAPluginError as error:
        plugins.report_file(origin, error.finding, error.remedy)
        return
    except BaseException as error:  # noqa: BLE001 - a plugin may even call sys.exit
        plugins.report(origin, _reason(error, folder))
        return
    if not loaded and origin != "builtin":
        remedy = "Define one, or begin the name of a file that is a helper with _."
        plugins.report_file(origin, "has no 'plugin' attribute", remedy)
    for plugin in loaded:
        plugins.add(plugin, origin)


def check_folder(folder: Path | None, plugins: Plugins[Any]) -> None:
    """Report a mounted folder that does not exist."""
    if folder is not None and not folder.is_dir():
        plugins.report(f"{_FOLDER}{folder}", "There is no such folder. Check the setting of it.")


def sources(group: str, folder: Path | None) -> Iterator[tuple[str, str]]:
    """Yield the origin and the module of each plugin that is not Heddle's; imports none of them.

    Args:
        group: The entry-point group of installed distributions, whose entry points are
            `module:attribute`.
        folder: The mounted folder, whose modules have the names of files without their ending.
    """
    for origin, point in points(group):
        yield origin, point.value
    for path in _files(folder):
        yield f"{_FOLDER}{path.name}", path.stem


def is_mounted(origin: str) -> bool:
    """Return whether a plugin is a file of the mounted folder."""
    return origin.startswith(_FOLDER)


def _sources(package: ModuleType, group: str, folder: Path | None) -> Iterator[tuple[str, Load]]:
    for info in iter_modules(package.__path__, f"{package.__name__}."):
        yield "builtin", lambda name=info.name: import_module(name)  # type: ignore[misc] # bound now, not when called
    for origin, point in points(group):
        yield origin, point.load
    if folder is not None:
        package_name = mounted_package(folder, group)
        for path in _files(folder):
            name = f"{package_name}.{path.stem}"
            yield f"{_FOLDER}{path.name}", lambda name=name: import_module(name)  # type: ignore[misc] # as above


def _files(folder: Path | None) -> list[Path]:
    return sorted(folder.glob("[!_]*.py")) if folder is not None else []


def mounted_package(folder: Path, group: str) -> str:
    """Register a mounted folder as a package, so that its files can import each other.

    Each folder and each kind of plugin has its own package: helpers of the same name do not
    collide. Modules of an earlier discovery are dropped.

    Returns:
        The name of the package.
    """
    digest = sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    name = f"{group}.mounted_{digest}"
    for loaded in [each for each in sys.modules if each == name or each.startswith(f"{name}.")]:
        del sys.modules[loaded]
    package = ModuleType(name, f"The plugins and helpers of {folder}.")
    package.__path__ = [str(folder)]
    sys.modules[name] = package
    invalidate_caches()
    return name


def _reason(error: BaseException, folder: Path | None) -> str:
    """Return why a plugin did not load, with a hint if it imports a neighbour absolutely."""
    message = f"{type(error).__name__}: {error}"
    if isinstance(error, ModuleNotFoundError) and folder and error.name:
        name = error.name.partition(".")[0]
        if (folder / f"{name}.py").is_file() or (folder / name).is_dir():
            return f"{message}. Import a file beside the plugin with `from .{name} import ...`."
    return message
