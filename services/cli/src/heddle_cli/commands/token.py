"""`heddle token`."""

import os
from typing import Annotated

import typer
from heddle_runtime.identity import Identity

from heddle_cli.connections import OPERATOR, SECRET, signer
from heddle_cli.terminal import out


def token(
    *,
    subject: Annotated[str, typer.Option(help="The user or application.")] = OPERATOR.subject,
    organization: Annotated[str, typer.Option(help="The organisation of the subject.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope of the token. Repeatable.")
    ] = None,
) -> None:
    """Print a token for grpcurl, signed with HEDDLE_IDENTITY_SECRET and valid for a minute.

    grpcurl -H "authorization: Bearer $(heddle token)" …
    """
    signed = signer(os.environ.get(SECRET, ""))
    out.print(signed.token(Identity(subject, organization, tuple(scope or ()))))
