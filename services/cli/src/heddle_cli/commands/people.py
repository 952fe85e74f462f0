"""`heddle people`."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path, PurePosixPath
from typing import Annotated

import typer
from heddle.person.v1 import person_pb2 as pb
from heddle.person.v1.person_pb2_grpc import PersonServiceStub
from heddle_runtime.identity.people import TREATMENTS, steps, summed

from heddle_cli.connections import Connection, connected
from heddle_cli.options import (
    AsJson,
)
from heddle_cli.terminal import counted, notes, out, plain, show

app = typer.Typer(
    help="List, export and erase what Heddle stores of a person.", no_args_is_help=True
)
_SECONDS = 600.0
_HEAD = ("SERVICE", "PLACE", "COUNT", "WHEN ERASED")
Email = Annotated[str, typer.Argument(help="The person's e-mail address.")]
Organization = Annotated[str, typer.Option(help="The person's organisation.")]
Services = dict[str, Connection[PersonServiceStub]]
Row = tuple[str, pb.Place]
Request = pb.ListPersonalDataRequest | pb.ErasePersonalDataRequest


@app.command("list")
def list_data(
    email: Email,
    *,
    organization: Organization,
    as_json: AsJson = False,
) -> None:
    """Count what is stored of a person, place by place."""
    request = pb.ListPersonalDataRequest(email=email, organization=organization)
    with _services() as services:
        _print(request, [*_listed(services, request)], as_json=as_json)


@app.command()
def export(
    email: Email,
    *,
    organization: Organization,
    to: Annotated[Path, typer.Option(help="A folder that is new or empty.")],
) -> None:
    """Write everything that is stored of a person into a folder."""
    if to.exists() and any(to.iterdir()):
        raise typer.BadParameter(f"The folder {to} is not empty.", param_hint="--to")
    request = pb.ExportPersonalDataRequest(email=email, organization=organization)
    files = set()
    with _services() as services:
        for name, service in services.items():
            parts = service.stub.ExportPersonalData(request, timeout=_SECONDS)
            for part in parts:
                path = _inside(to / name, part.path)
                path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                with path.open("ab") as file:
                    file.write(part.data)
                files.add(path)
    out.print(plain(f"{counted(len(files), 'file')} of {email} in {to}"))


@app.command()
def erase(
    email: Email,
    *,
    organization: Organization,
    new_owner: Annotated[
        str,
        typer.Option(help="The user who gets assistants, rubrics and shared collections."),
    ] = "",
    delete_shared: Annotated[
        bool,
        typer.Option("--delete-shared", help="Delete assistants, rubrics and shared collections."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase what is stored of a person in an organisation.

    Say what happens to things that others may use: --new-owner or --delete-shared. The command can
    be repeated. The exit code is 1 if something is left.
    """
    if bool(new_owner) == delete_shared:
        raise typer.BadParameter("Say either --new-owner ADDRESS or --delete-shared.")
    request = pb.ErasePersonalDataRequest(
        email=email,
        organization=organization,
        shared_things=pb.SHARED_THINGS_DELETE if delete_shared else pb.SHARED_THINGS_HAND_OVER,
        new_owner=new_owner,
    )
    with _services() as services:
        rows = _erased(services, request)
        listing = pb.ListPersonalDataRequest(email=email, organization=organization)
        left = [each for each in _listed(services, listing) if each[1].count]
    _print(request, rows, as_json=as_json)
    if left:
        places = ", ".join(f"{place.name} {place.count}" for _, place in left)
        notes.print(plain(f"Left: {places}. Run the command again."), style="red")
        raise typer.Exit(1)


def erase_organization(slug: str) -> None:
    """Erase an organisation in all services, and print what each place had."""
    request = pb.ErasePersonalDataRequest(organization=slug, shared_things=pb.SHARED_THINGS_DELETE)
    with _services() as services:
        _print(request, _erased(services, request), as_json=False)


@contextmanager
def _services() -> Iterator[Services]:
    """Yield the services in the order in which data is erased, the assistants service last."""
    with ExitStack() as opened:
        yield {
            name: opened.enter_context(connected(name, PersonServiceStub))
            for name in ("knowledge", "connector", "tools", "assistants")
        }


def _erased(services: Services, request: pb.ErasePersonalDataRequest) -> list[Row]:
    """Erase in all services, and return what each place had."""
    rows: list[Row] = []
    for name, each in steps(request, services):
        response = services[name].stub.ErasePersonalData(each, timeout=_SECONDS)
        rows += [(name, place) for place in response.places]
    return summed(rows)


def _listed(services: Services, request: pb.ListPersonalDataRequest) -> Iterator[Row]:
    for name, service in services.items():
        response = service.stub.ListPersonalData(request, timeout=_SECONDS)
        yield from ((name, each) for each in response.places)


def _print(request: Request, rows: list[Row], *, as_json: bool) -> None:
    places = [
        {
            "service": service,
            "place": each.name,
            "count": each.count,
            "treatment": TREATMENTS[each.treatment],
        }
        for service, each in rows
    ]
    document = {
        "email": request.email,
        "organization": request.organization,
        "places": places,
    }
    texts = (tuple(map(str, each.values())) for each in places)
    show(document, texts, as_json=as_json, head=_HEAD)


def _inside(folder: Path, path: str) -> Path:
    """Return the place of a file of an export, in the folder whatever its name is."""
    parts = [each for each in PurePosixPath(path).parts if each not in ("/", "..")]
    return folder.joinpath(*parts)
