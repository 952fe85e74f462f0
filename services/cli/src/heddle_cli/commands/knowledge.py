"""`heddle knowledge`: work on the store of the knowledge service, without the service."""

import asyncio
import dataclasses
import json
from importlib import import_module
from importlib.util import find_spec
from typing import Annotated, Any

import typer
from heddle_runtime.errors import HeddleError, InvalidRequestError, StorageError
from heddle_runtime.object_store import ObjectStore, ObjectStoreSettings
from pydantic import ValidationError

from heddle_cli.options import AsJson
from heddle_cli.terminal import bars, notes, out, plain

app = typer.Typer(help="Work on the store of the knowledge service.", no_args_is_help=True)
_COPYING = "heddle_knowledge.copying.copying"
_SEARCHES = "searches"


@app.callback()
def _group() -> None:
    """Keep `copy` a command of its own, although it is the only one."""


@app.command()
def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A folder, or postgresql://USER@HOST/DATABASE.")
    ],
    target: Annotated[str, typer.Argument(metavar="TO", help="The same; made if it is missing.")],
    *,
    objects: Annotated[
        str,
        typer.Option(
            envvar="HEDDLE_OBJECTS_URL",
            metavar="s3://BUCKET/PREFIX",
            help="Where the bytes of uploaded files and pictures are, for a side that is a "
            "database. Without it, they are in the database.",
        ),
    ] = "",
    source_objects: Annotated[
        str,
        typer.Option(
            "--from-objects",
            metavar="s3://BUCKET/PREFIX",
            help="Where those of FROM are, if both sides are databases.",
        ),
    ] = "",
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete what TO has and FROM does not have.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a knowledge store to another place, and compare both.

    Stop the services of both stores first, or repeat the command after they have stopped: it then
    copies only what differs. Repeat it also if it was interrupted. FROM is not changed. Give the
    password of a database in PGPASSWORD or in the file PGPASSFILE. The exit code is 1 if something
    differs at the end.
    """
    if find_spec("heddle_knowledge") is None:
        raise InvalidRequestError(
            "This command runs where the knowledge service is installed, such as in its image."
        )
    copying = import_module(_COPYING)
    from_objects = source_objects or objects
    places = [_place(copying, source, from_objects), _place(copying, target, objects)]
    if not asyncio.run(_copied(copying, *places, delete=delete, as_json=as_json)):
        raise typer.Exit(1)


async def _copied(copying: Any, *places: Any, delete: bool, as_json: bool) -> bool:  # noqa: ANN401 - loaded late
    """Copy, report each part, and return whether both sides are equal."""
    errors = import_module("heddle_knowledge.errors")
    is_equal = True
    try:
        with bars(shown=out.is_terminal and not as_json) as drawn:
            bar = drawn.add_task("comparing", total=None)
            async for event in copying.copy_store(*places, delete=delete):
                if isinstance(event, copying.Progress):
                    drawn.update(
                        bar, description=event.part, completed=event.done, total=event.total
                    )
                else:
                    is_equal = is_equal and not event.differences
                    _report(event, as_json=as_json)
    except errors.InvalidInputError as error:
        raise InvalidRequestError(str(error)) from error
    except errors.KnowledgeError as error:
        raise HeddleError(str(error)) from error
    except StorageError as error:
        raise HeddleError(error.diagnosis or error.message) from error
    return is_equal


def _report(result: Any, *, as_json: bool) -> None:  # noqa: ANN401 - loaded late
    if as_json:
        out.print(json.dumps(dataclasses.asdict(result)))
        return
    if result.part == _SEARCHES:
        line = f"{result.items} searches compared"
    else:
        line = f"{result.part}: {result.items}, {result.copied} copied, {result.deleted} deleted"
    out.print(line)
    if result.differences:
        examples = plain(", ".join(result.differences))
        notes.print(f"{result.part} that differ: {examples}. Repeat the command.", style="red")


def _place(copying: Any, address: str, objects: str) -> Any:  # noqa: ANN401 - loaded late
    """Return a side of the copy. Only a database may have an object store."""
    place = copying.Place(address)
    if place.folder is not None:
        return place
    return copying.Place(address, _object_store(objects))


def _object_store(url: str) -> ObjectStore | None:
    try:
        settings = ObjectStoreSettings(objects_url=url)
    except ValidationError as error:
        raise InvalidRequestError(
            "An object store is s3://BUCKET or s3://BUCKET/PREFIX."
        ) from error
    return settings.object_store()
