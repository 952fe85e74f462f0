"""Loads a connector from a file as the connector service does."""

from importlib import import_module
from pathlib import Path
from typing import Any

from heddle_runtime.serving.plugins import mounted_package

from heddle_connector.sdk.definition import Connector, plugins_in

_GROUP = "heddle.connectors.tests"


def connector_in(file: Path) -> type[Connector[Any]]:
    """Return the connector that a file defines.

    The file imports helpers beside it relatively (`from ._helper import x`), as in the folder of
    the setting `HEDDLE_CONNECTOR_PLUGINS_DIR`.

    Raises:
        ValueError: The file does not define exactly one connector.
        Exception: The file cannot be imported.
    """
    module = import_module(f"{mounted_package(file.parent, _GROUP)}.{file.stem}")
    connectors = [plugin.create for plugin in plugins_in(module)]
    if len(connectors) != 1:
        raise ValueError(f"{file.name} defines {len(connectors)} connectors. It must define one.")
    return connectors[0]  # type: ignore[return-value] # what the decorator registers is the class
