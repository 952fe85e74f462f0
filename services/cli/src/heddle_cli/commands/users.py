"""`heddle users`."""

import sys
from typing import Annotated

import typer
from heddle.account.v1 import account_pb2 as pb
from heddle.account.v1.account_pb2_grpc import AccountServiceStub
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.setup_link import setup_link
from pydantic import SecretStr

from heddle_cli.connections import connected
from heddle_cli.secret import services_secret
from heddle_cli.terminal import notes, out, plain

app = typer.Typer(help="Create and change users.", no_args_is_help=True)


@app.callback()
def users() -> None:
    """Create and change users."""


@app.command("set")
def set_user(
    email: Annotated[str, typer.Argument(help="The user's e-mail address.")],
    *,
    organization: Annotated[str, typer.Option(help="The user's organisation.")],
    name: Annotated[str, typer.Option(help="The display name.")] = "",
    role: Annotated[
        str, typer.Option(help="member, creator or admin of the organisation.")
    ] = "member",
    disabled: Annotated[
        bool, typer.Option("--disabled", help="Reject the user's requests.")
    ] = False,
) -> None:
    """Create or change a user. Options that are left out are set to their defaults."""
    request = pb.PutUserRequest(
        email=email, organization=organization, name=name, role=role, disabled=disabled
    )
    with connected("assistants", AccountServiceStub) as connection:
        connection.stub.PutUser(request)
    out.print(plain(f"{email}: {'disabled' if disabled else role} of {organization}"))


@app.command("set-password")
def set_password(
    email: Annotated[str, typer.Argument(help="The user's e-mail address.")],
    *,
    organization: Annotated[str, typer.Option(help="The user's organisation.")],
    generate: Annotated[
        bool, typer.Option("--generate", help="Generate the password and print it, this once.")
    ] = False,
) -> None:
    """Set the password of a user, and end the user's sessions.

    The command asks for the password twice; if standard input is no terminal, its first line is the
    password. A generated one is all that standard output has.
    """
    password = "" if generate else _prompted()
    if not (generate or password):
        raise typer.BadParameter("The password is empty. Use --generate to have one generated.")
    request = pb.SetPasswordRequest(email=email, organization=organization, password=password)
    with connected("assistants", AccountServiceStub) as connection:
        generated = connection.stub.SetPassword(request).password
    if generated:
        out.print(generated)
    text = f"{email}: password set in {organization}. All sessions of the user have ended."
    notes.print(plain(text), style="dim")


def _prompted() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.readline().rstrip("\n")
    password: str = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return password


@app.command("setup-link")
def print_setup_link(
    *,
    studio: Annotated[
        str, typer.Option(help="The address of the studio.")
    ] = "http://127.0.0.1:8080/studio",
) -> None:
    """Print the link with which the first operator makes an account in the studio.

    Heddle prints it at its start, too. It is good for one account: keep it secret until then.

    Raises:
        InvalidRequestError: The secret of the services is not known here.
    """
    secret = services_secret()
    if not secret:
        raise InvalidRequestError("Set HEDDLE_IDENTITY_SECRET as for the services.")
    out.print(plain(setup_link(studio, SecretStr(secret))))
