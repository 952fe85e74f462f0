"""`heddle backup` and `heddle restore`."""

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer
from heddle_runtime.errors import NotSetUpError

_ALL_SERVICES = "heddle_devstack"
Archive = Annotated[Path, typer.Argument(help="The archive; - for standard input.")]


def backup(
    file: Annotated[Path, typer.Argument(help="A new file; - for standard output.")],
    *,
    workspaces: Annotated[
        bool, typer.Option("--workspaces", help="Also back up the files that models change.")
    ] = False,
    without_secrets: Annotated[
        bool, typer.Option("--without-secrets", help="Leave out secrets and keys.")
    ] = False,
) -> None:
    """Write all that this installation stores to an archive, while its services run.

    Reads the settings of the services. The archive holds secrets unless --without-secrets is set.
    """
    _commands().back_up(file, workspaces=workspaces, with_secrets=not without_secrets)


def restore(
    file: Archive,
    *,
    check: Annotated[
        bool, typer.Option("--check", help="Only read the archive, and report damage.")
    ] = False,
    compare: Annotated[
        bool,
        typer.Option("--compare", help="Only read all of the installation, and compare it."),
    ] = False,
    secrets: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Only write the secrets of the archive to files."),
    ] = None,
) -> None:
    """Bring an archive into an empty installation, and read everything again.

    Reads the settings of the services, which must not run. The database may be another kind than
    the one that the backup was made of: SQLite or PostgreSQL.
    """
    if check:
        _commands().check(file)
    elif compare:
        _commands().compare(file)
    elif secrets is not None:
        _commands().write_secrets(file, secrets)
    else:
        _commands().restore(file)


def _commands() -> Any:  # noqa: ANN401 - a module that only whole installations have
    if find_spec(_ALL_SERVICES) is None:
        raise NotSetUpError(
            "This installation has not all services. Run the command where heddle-devstack is "
            "installed, such as in the all-in-one image, with the settings of the services."
        )
    return import_module(f"{_ALL_SERVICES}.backup.commands")
