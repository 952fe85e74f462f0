"""`heddle organizations`."""

import json
from typing import Annotated

import grpc
import typer
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1.account_pb2_grpc import AccountServiceStub
from heddle_runtime.errors import InvalidRequestError, NotFoundError

from heddle_cli.connections import SOON, Connection, connected, new_call_options
from heddle_cli.options import ASSISTANTS, AssistantsAddress
from heddle_cli.pages import items
from heddle_cli.terminal import columns, notes, out, plain

app = typer.Typer(help="Look at organisations and set them up.", no_args_is_help=True)
_SERVICE = pb.DESCRIPTOR.services_by_name["AccountService"]
Slug = Annotated[str, typer.Argument(help="The organisation's short name.")]


@app.command("list")
def list_organizations(*, assistants_address: AssistantsAddress = ASSISTANTS) -> None:
    """List the organisations: short name, whether it is the system's, name."""
    with connected(assistants_address, _SERVICE) as connection:
        stub = AccountServiceStub(connection.channel)
        response = items(
            lambda token: stub.ListOrganizations(
                pb.ListOrganizationsRequest(page_token=token), **new_call_options(SOON)
            ),
            lambda page: page.organizations,
        )
    if not response:
        notes.print("There are none. `heddle organizations set` makes one.", style="dim")
    columns((item.slug, "system" if item.system else "-", item.name) for item in response)


@app.command("show")
def show_organization(slug: Slug, *, assistants_address: AssistantsAddress = ASSISTANTS) -> None:
    """Print the settings as JSON, with ******** in the place of secrets.

    What is printed can be edited and given to `set`, which leaves those secrets as they are.
    """
    with connected(assistants_address, _SERVICE) as connection:
        response = read(connection, slug)
    # ASCII: text of the settings cannot steer the terminal.
    out.print(json.dumps(json.loads(response.organization.settings_json), indent=2))
    notes.print(plain(f"{response.organization.name}, --etag {response.etag}"), style="dim")


@app.command("set")
def set_organization(
    slug: Slug,
    settings: Annotated[
        typer.FileText | None,
        typer.Argument(help="A JSON file of settings, or - for the input. Else they stay."),
    ] = None,
    *,
    name: Annotated[str, typer.Option(help="The name shown to people.")] = "",
    etag: Annotated[
        str, typer.Option(help="What `show` told. Refuses to replace what changed since.")
    ] = "",
    assistants_address: AssistantsAddress = ASSISTANTS,
) -> None:
    """Make an organisation, or change its settings or its name."""
    organization = pb.Organization(
        slug=slug, name=name, settings_json=_text(settings) if settings else ""
    )
    with connected(assistants_address, _SERVICE) as connection:
        known = etag or _etag(connection, slug)
        request = pb.PutOrganizationRequest(organization=organization, etag=known)
        AccountServiceStub(connection.channel).PutOrganization(request, **new_call_options(SOON))
    out.print(plain(f"{slug}: {'changed' if known else 'made'}"))


def _text(file: typer.FileText) -> str:
    """Return what a file of settings holds; nothing would leave the settings as they are."""
    try:
        text = file.read()
    except UnicodeDecodeError:
        raise InvalidRequestError(f"{file.name} is not UTF-8.") from None
    if not text.strip():
        raise InvalidRequestError(f"{file.name} is empty. Write {{}} for no settings.")
    return text


def read(connection: Connection, slug: str) -> pb.GetOrganizationResponse:
    """Return an organisation."""
    request = pb.GetOrganizationRequest(slug=slug)
    return AccountServiceStub(connection.channel).GetOrganization(request, **new_call_options(SOON))


def _etag(connection: Connection, slug: str) -> str:
    """Return the etag of an organisation, nothing if there is none."""
    try:
        return read(connection, slug).etag
    except grpc.RpcError as error:
        if isinstance(connection.failure(error), NotFoundError):
            return ""
        raise
