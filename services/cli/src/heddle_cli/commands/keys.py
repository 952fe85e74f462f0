"""`heddle keys`."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.timestamp_pb2 import Timestamp
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1.account_pb2_grpc import AccountServiceStub

from heddle_cli.connections import Connection, connected
from heddle_cli.options import AsJson
from heddle_cli.pages import document, whole
from heddle_cli.terminal import notes, plain, show

app = typer.Typer(help="Create, list and revoke API keys.", no_args_is_help=True)
_DAY = 24 * 60 * 60
_MAX_DAYS = 36_500


@app.command("create")
def create_key(
    *,
    name: Annotated[str, typer.Option(help="The purpose of the key.")],
    organization: Annotated[str, typer.Option(help="The organisation of the key.")],
    user: Annotated[
        str,
        typer.Option(
            help="The e-mail address of its user. By default it acts for the organisation."
        ),
    ] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="organization_admin or admin. Repeatable.")
    ] = None,
    trusted: Annotated[
        bool,
        typer.Option("--trusted", help="Let Open WebUI name the user of a request in its headers."),
    ] = False,
    expires: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=_MAX_DAYS, help="Days after which it expires. Never by default."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Create a key and print it, this once. Standard output has nothing else.

    The key is generated. Keys of your own, in the gateway's settings or file, need 16 characters or
    more.
    """
    key = pb.Key(
        name=name,
        organization=organization,
        user=user,
        scopes=scope,
        trusted=trusted,
        expire_time=None if expires is None else _after(expires),
    )
    with connected("assistants", AccountServiceStub) as connection:
        created = create(connection, key)
    show(document(created), [(created.secret,)], as_json=as_json)
    text = f"{created.key.id}: created. Store the key: it cannot be shown again."
    notes.print(plain(text), style="dim")


@app.command("list")
def list_keys(
    *,
    organization: Annotated[str, typer.Option(help="Only keys of this organisation.")] = "",
    former_pepper: Annotated[
        bool,
        typer.Option(
            "--former-pepper",
            help="Only valid keys that still need the former pepper. A key that is used gets the "
            "new one; revoke the others before you remove the former pepper.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the keys, newest first: id, organisation, user, rights, state, name."""
    with connected("assistants", AccountServiceStub) as connection:
        response = listed(connection, organization)
    without = "There are no keys. `heddle keys create` makes one."
    if former_pepper:
        waiting = [key for key in response.keys if key.former_pepper and is_usable(key)]
        response = pb.ListKeysResponse(keys=waiting)
        without = "No key needs a former pepper."
    show(document(response), map(_row, response.keys), as_json=as_json, without=without)


@app.command("revoke")
def revoke_key(
    identifier: Annotated[str, typer.Argument(metavar="ID", help="The key's id.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Revoke a key. It is rejected everywhere within two seconds."""
    # The whole key is accepted, too.
    beginning, _, rest = identifier.partition("_")
    request = pb.RevokeKeyRequest(id=rest.partition("_")[0] if beginning == "hk" else identifier)
    with connected("assistants", AccountServiceStub) as connection:
        key = connection.stub.RevokeKey(request).key
    show(document(key), [(f"{key.id}: revoked",)], as_json=as_json)


def create(connection: Connection[AccountServiceStub], key: pb.Key) -> pb.CreateKeyResponse:
    """Create a key."""
    request = pb.CreateKeyRequest(key=key)
    return connection.stub.CreateKey(request)


def listed(connection: Connection[AccountServiceStub], organization: str) -> pb.ListKeysResponse:
    """Return all keys, or those of one organisation."""
    request = pb.ListKeysRequest(organization=organization)
    response: pb.ListKeysResponse = whole(connection.stub.ListKeys, request)
    return response


def _row(key: pb.Key) -> tuple[str, ...]:
    rights = [*key.scopes, *(["trusted"] if key.trusted else [])]
    return (
        key.id,
        key.organization,
        key.user or "-",
        ",".join(rights) or "-",
        state(key),
        key.name,
    )


def state(key: pb.Key) -> str:
    """Return whether a key is valid, and the date of its end."""
    if key.HasField("revoke_time"):
        return f"revoked {_day(key.revoke_time)}"
    if not key.HasField("expire_time"):
        return "valid"
    over = key.expire_time.seconds <= time.time()
    return f"{'expired' if over else 'until'} {_day(key.expire_time)}"


def is_usable(key: pb.Key) -> bool:
    """Return whether a key is neither revoked nor expired."""
    expired = key.HasField("expire_time") and key.expire_time.seconds <= time.time()
    return not expired and not key.HasField("revoke_time")


def _day(moment: Timestamp) -> str:
    return f"{datetime.fromtimestamp(moment.seconds, UTC):%Y-%m-%d}"


def _after(days: float) -> Timestamp:
    return Timestamp(seconds=int(time.time() + days * _DAY))
