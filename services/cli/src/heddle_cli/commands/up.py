"""`heddle up`."""

import os
import sys
from importlib.util import find_spec
from typing import Annotated, Literal

import typer
from heddle_runtime.errors import NotSetUpError

_ALL_SERVICES = "heddle_devstack"
_INSTALL = "This installation has no services. Install heddle-server, which has all of them."


def up(
    *,
    log: Annotated[
        Literal["file", "json"],
        typer.Option(
            envvar="HEDDLE_DEVSTACK_LOG",
            help="Where the log goes: a file, or standard error as JSON lines.",
        ),
    ] = "file",
) -> None:
    """Run every service in one process, with its data in the folder .heddle.

    Prints where the studio is. Reads the settings of the services; by default, only this machine
    can reach them, and requests need no key.
    """
    if find_spec(_ALL_SERVICES) is None:
        raise NotSetUpError(_INSTALL)
    environment = {"HEDDLE_GATEWAY_DEVELOPMENT": "true", **os.environ, "HEDDLE_DEVSTACK_LOG": log}
    # -P: modules in the current folder are no part of Heddle.
    command = [sys.executable, "-P", "-m", _ALL_SERVICES]
    os.execve(sys.executable, command, environment)  # noqa: S606 - our own module
