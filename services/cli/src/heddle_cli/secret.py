"""The secret of the services, and the tokens that the operator's calls carry."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from heddle_runtime.call_metadata import AUTHORIZATION
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity import OPERATOR, TokenSigner
from heddle_runtime.multiplex.methods import service_of
from heddle_runtime.secret_file import read_secret
from heddle_runtime.settings import ServiceSettings

SECRET = "HEDDLE_IDENTITY_SECRET"  # noqa: S105 - the variable's name, not what it holds
SECRET_FILE = "HEDDLE_IDENTITY_SECRET_FILE"  # noqa: S105 - likewise
_SHORTEST = 32


def authorized(channel: grpc.Channel) -> grpc.Channel:
    """Return the channel with a token of the operator in each call, if there is a secret."""
    return grpc.intercept_channel(channel, _Authorization())


def service_named(name: str) -> str:
    """Return the full name of a gRPC service, for example of `knowledge`."""
    return name if "." in name else f"heddle.{name}.v1.{name.capitalize()}Service"


def services_secret() -> str:
    """Return the secret of the environment, else that of the services' file; empty without both.

    Raises:
        InvalidRequestError: The file cannot be read.
    """
    if secret := os.environ.get(SECRET):
        return secret
    default = ServiceSettings.model_fields["identity_secret_file"].default
    try:
        return read_secret(Path(os.environ.get(SECRET_FILE) or default))
    except FileNotFoundError:
        return ""
    except OSError as error:
        message = f"The secret of the services cannot be read: {error}. Set {SECRET}."
        raise InvalidRequestError(message) from error


@cache
def signer(secret: str) -> TokenSigner:
    """Return the signer of `secret`, always the same one because it caches tokens.

    Raises:
        InvalidRequestError: The secret is too short.
    """
    if len(secret) < _SHORTEST:
        raise InvalidRequestError(
            f"{SECRET} must hold the secret of the services, {_SHORTEST} characters or more."
        )
    return TokenSigner(secret)


class _Details(NamedTuple):
    """The details of a call, with more metadata."""

    method: str
    timeout: float | None
    metadata: tuple[tuple[str, str], ...]
    credentials: Any
    wait_for_ready: bool | None
    compression: Any


class _Authorization(grpc.UnaryUnaryClientInterceptor, grpc.UnaryStreamClientInterceptor):
    """Adds a token for the service that is called."""

    def intercept_unary_unary(
        self, continuation: Callable[..., Any], details: grpc.ClientCallDetails, request: object
    ) -> Any:  # noqa: ANN401 - the call
        """Send a call with a token."""
        return continuation(_with_token(details), request)

    def intercept_unary_stream(
        self, continuation: Callable[..., Any], details: grpc.ClientCallDetails, request: object
    ) -> Any:  # noqa: ANN401 - the call
        """Send a call with a token."""
        return continuation(_with_token(details), request)


def _with_token(details: Any) -> _Details:  # noqa: ANN401 - grpcio's own
    metadata = tuple(details.metadata or ())
    if secret := services_secret():
        token = signer(secret).token(OPERATOR, service_of(details.method))
        metadata = (*metadata, (AUTHORIZATION, f"Bearer {token}"))
    return _Details(
        details.method,
        details.timeout,
        metadata,
        details.credentials,
        details.wait_for_ready,
        details.compression,
    )
