"""`heddle token`."""

from typing import Annotated

import typer
from heddle_runtime.identity.callers import OPERATOR, Identity

from heddle_cli.secret import service_named, services_secret, signer
from heddle_cli.terminal import out


def token(
    service: Annotated[
        str, typer.Argument(help="The gRPC service, for example knowledge or account.")
    ],
    *,
    subject: Annotated[str, typer.Option(help="The user or application.")] = OPERATOR.subject,
    organization: Annotated[str, typer.Option(help="The organisation of the subject.")] = "",
    scope: Annotated[
        list[str] | None, typer.Option(help="A scope of the token. Repeatable.")
    ] = None,
) -> None:
    """Print a token for grpcurl, signed with the services' secret and valid for a minute.

    It is valid at one gRPC service.

    The secret is HEDDLE_IDENTITY_SECRET, or else the one in HEDDLE_LOCAL_SECRET_FILE.

    grpcurl -H "authorization: Bearer $(heddle token knowledge)" …
    """
    signed = signer(services_secret())
    identity = Identity(subject, organization, tuple(scope or ()))
    out.print(signed.token(identity, service_named(service)))
