"""Finding plugins: in a package of ours, in installed distributions, in a mounted folder.

A plugin that does not load is a problem that is reported; it never keeps the others from loading.
Of two plugins with one name the first stays: ours before installed ones, those before mounted ones.
Nobody sees a plugin that the environment switches off, as in LAMB: `PLUGIN_<NAME>=DISABLE`.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Generic, Protocol, TypeVar

import structlog

log = structlog.get_logger(__name__)


class Named(Protocol):
    """Anything that can be a plugin."""

    @property
    def name(self) -> str:
        """The name under which it is found."""


PluginT = TypeVar("PluginT", bound=Named)
Load = Callable[[], ModuleType]


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a plugin was skipped."""

    origin: str
    message: str


@dataclass(slots=True)
class Plugins(Generic[PluginT]):
    """The plugins that loaded, by name, and what did not."""

    found: dict[str, PluginT] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, plugin: PluginT, origin: str) -> None:
        """Take `plugin`, unless its name is taken or it is switched off."""
        if os.environ.get(f"PLUGIN_{plugin.name.upper()}", "").strip().upper() == "DISABLE":
            log.info("plugin switched off", plugin=plugin.name, origin=origin)
            return
        if plugin.name in self.found:
            first = self.origins[plugin.name]
            self.report(origin, f"The name {plugin.name!r} is taken by {first}. Rename one.")
            return
        self.found[plugin.name] = plugin
        self.origins[plugin.name] = origin
        log.info("plugin loaded", plugin=plugin.name, origin=origin)

    def report(self, origin: str, message: str) -> None:
        """Remember that a plugin was skipped."""
        self.problems.append(Problem(origin, message))
        log.warning("plugin skipped", origin=origin, problem=message)


def discover(
    package: ModuleType,
    group: str,
    folder: Path | None,
    read: Callable[[ModuleType], Iterable[PluginT]],
) -> Plugins[PluginT]:
    """Load every module that may hold plugins and collect what `read` finds in it.

    Args:
        package: The package whose modules are ours.
        group: The entry-point group of installed distributions.
        folder: The mounted folder, if there is one. Files that begin with `_` are skipped.
        read: Returns the plugins of a module, or raises with a message that says what to mend.
    """
    plugins: Plugins[PluginT] = Plugins()
    for origin, load in _sources(package, group, folder):
        try:
            found = list(read(load()))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - a plugin may even call sys.exit
            plugins.report(origin, f"{type(error).__name__}: {error}")
            continue
        if not found and origin != "builtin":
            plugins.report(origin, "The file defines no plugin.")
        for plugin in found:
            plugins.add(plugin, origin)
    if folder is not None and not folder.is_dir():
        plugins.report(f"folder:{folder}", "There is no such folder. Check the setting of it.")
    return plugins


def _sources(package: ModuleType, group: str, folder: Path | None) -> Iterator[tuple[str, Load]]:
    for info in iter_modules(package.__path__, f"{package.__name__}."):
        yield "builtin", lambda name=info.name: import_module(name)  # type: ignore[misc] # bound now, not when called
    for point in entry_points(group=group):
        origin = f"package:{point.dist.name if point.dist else point.value}"
        yield origin, point.load
    if folder is not None:
        for path in sorted(folder.glob("[!_]*.py")):
            yield f"folder:{path.name}", lambda path=path: _load(path, group)  # type: ignore[misc] # as above


def _load(path: Path, group: str) -> ModuleType:
    # Files of two kinds of plugins may have one name.
    name = f"{group}.mounted.{path.stem}"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} cannot be imported")
    module = module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pydantic look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
