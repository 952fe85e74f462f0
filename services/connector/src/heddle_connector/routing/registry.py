"""The registry of installed connectors."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import structlog
from heddle_runtime.errors import NotFoundError
from heddle_runtime.serving.plugins import Plugins, discover
from heddle_runtime.settings.secret_files import SecretFileError
from pydantic import ValidationError

from heddle_connector import connectors
from heddle_connector.http import HttpClient
from heddle_connector.routing.default_connector import DefaultModel
from heddle_connector.sdk import Connector, Plugin
from heddle_connector.sdk.definition import plugins_in

ENTRY_POINTS = "heddle.connectors"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Registry:
    """The connectors that are ready, and why others are not."""

    plugins: Plugins[Plugin]
    connectors: Mapping[str, Connector[Any]]

    def get(self, name: str) -> Connector[Any]:
        """Return the connector called `name`.

        Raises:
            NotFoundError: No connector has that name; the message lists the names.
        """
        connector = self.connectors.get(name)
        if connector is None:
            raise NotFoundError(
                f"No connector is named {name!r}. There are: {', '.join(sorted(self.connectors))}.",
                connector=name,
            )
        return connector


def installed(folder: Path | None = None) -> Plugins[Plugin]:
    """Find the connectors of this package, of installed distributions and of `folder`."""
    return discover(connectors, ENTRY_POINTS, folder, plugins_in, "connector")


@asynccontextmanager
async def opened(plugins: Plugins[Plugin], http: HttpClient) -> AsyncGenerator[Registry]:
    """Create the connectors with settings from the environment, and close them at the end."""
    plugins.add(DefaultModel.plugin, "builtin")
    ready: dict[str, Connector[Any]] = {}
    for name, plugin in plugins.loaded.items():
        try:
            ready[name] = plugin.open(plugin.settings(), http)
        except ValidationError as error:
            plugins.report(name, _invalid_settings(plugin, error))
        except SecretFileError as error:
            plugins.report(name, str(error))
        except Exception as error:  # third-party code, which must not stop other connectors
            log.exception("connector does not start", connector=name)
            plugins.report(name, f"The connector does not start: {type(error).__name__}.")
    try:
        yield Registry(plugins, ready)
    finally:
        for name, connector in ready.items():
            try:
                await connector.close()
            except Exception:  # as above
                log.exception("connector does not close", connector=name)


def _invalid_settings(plugin: Plugin, error: ValidationError) -> str:
    prefix = plugin.settings.model_config.get("env_prefix", "")
    return "; ".join(
        f"{prefix}{'_'.join(map(str, item['loc']))}".upper() + f": {item['msg']}"
        for item in error.errors(include_input=False)  # the input may be a secret
    )
