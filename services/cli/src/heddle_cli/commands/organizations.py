"""`heddle organizations`."""

import json
from typing import Annotated

import grpc
import typer
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1.account_pb2_grpc import AccountServiceStub
from heddle_runtime.errors import InvalidRequestError, NotFoundError

from heddle_cli.commands.people import erase_organization
from heddle_cli.connections import Connection, connected
from heddle_cli.options import (
    AsJson,
)
from heddle_cli.pages import document, whole
from heddle_cli.terminal import notes, out, plain, show

app = typer.Typer(help="List, show, change and delete organisations.", no_args_is_help=True)
Slug = Annotated[str, typer.Argument(help="The organisation's short name.")]


@app.command("list")
def list_organizations(*, as_json: AsJson = False) -> None:
    """List the organisations: short name, whether it is the system organisation, name."""
    with connected("assistants", AccountServiceStub) as connection:
        request = pb.ListOrganizationsRequest()
        response = whole(connection.stub.ListOrganizations, request)
    listed = response.organizations
    show(
        document(response),
        ((item.slug, "system" if item.system else "-", item.name) for item in listed),
        as_json=as_json,
        without="There are no organisations. `heddle organizations set` creates one.",
    )


@app.command("show")
def show_organization(slug: Slug) -> None:
    """Print the settings of an organisation as JSON, with ******** in place of secrets.

    The output can be edited and passed to `set`, which does not change secrets shown as ********.
    """
    with connected("assistants", AccountServiceStub) as connection:
        response = read(connection, slug)
    # ASCII: text of the settings cannot control the terminal.
    out.print(json.dumps(json.loads(response.organization.settings_json), indent=2))
    notes.print(plain(f"{response.organization.name}, --etag {response.etag}"), style="dim")


@app.command("set")
def set_organization(
    slug: Slug,
    settings: Annotated[
        typer.FileText | None,
        typer.Argument(
            help="A JSON file of settings, or - for standard input. Unchanged by default."
        ),
    ] = None,
    *,
    name: Annotated[str, typer.Option(help="The display name.")] = "",
    etag: Annotated[
        str,
        typer.Option(help="The etag that `show` printed: fail if the settings have changed since."),
    ] = "",
    allow_failing_providers: Annotated[
        bool, typer.Option(help="Store providers that list no models, too.")
    ] = False,
) -> None:
    """Create an organisation, or change its settings or its name."""
    organization = pb.Organization(
        slug=slug, name=name, settings_json=_text(settings) if settings else ""
    )
    with connected("assistants", AccountServiceStub) as connection:
        known = etag or _etag(connection, slug)
        request = pb.PutOrganizationRequest(
            organization=organization,
            etag=known,
            only_new=not known,
            allow_failing_providers=allow_failing_providers,
        )
        connection.stub.PutOrganization(request)
    out.print(plain(f"{slug}: {'changed' if known else 'made'}"))


@app.command("delete")
def delete_organization(
    slug: Slug,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
) -> None:
    """Delete an organisation with its users, assistants, collections, files, pictures and settings.

    Only the operator may do this. The home organisation cannot be deleted. Repeat the command after
    an error: the organisation is the last that is deleted.
    """
    if not yes:
        typer.confirm(f"Delete the organisation {slug} with all that it has?", abort=True)
    erase_organization(slug)


def _text(file: typer.FileText) -> str:
    """Return the text of a file of settings; an empty one would leave them unchanged."""
    try:
        text = file.read()
    except UnicodeDecodeError:
        raise InvalidRequestError(f"{file.name} is not UTF-8.") from None
    if not text.strip():
        raise InvalidRequestError(f"{file.name} is empty. Write {{}} for no settings.")
    return text


def read(connection: Connection[AccountServiceStub], slug: str) -> pb.GetOrganizationResponse:
    """Return an organisation."""
    request = pb.GetOrganizationRequest(slug=slug)
    return connection.stub.GetOrganization(request)


def _etag(connection: Connection[AccountServiceStub], slug: str) -> str:
    """Return the etag of an organisation, an empty string if it does not exist."""
    try:
        return read(connection, slug).etag
    except grpc.RpcError as error:
        if isinstance(connection.failure(error), NotFoundError):
            return ""
        raise
