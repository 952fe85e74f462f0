"""The secret of the services, and the tokens that the operator's calls carry."""

import os
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import grpc
import heddle
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.call_metadata import AUTHORIZATION, REQUEST_ID, new_request_id
from heddle_runtime.identity.callers import OPERATOR, Identity, TokenSigner
from heddle_runtime.identity.secrets import read_secret
from heddle_runtime.rpc.interceptor import service_of
from heddle_runtime.settings.secret_files import SecretFileError, secret_in_file
from heddle_runtime.settings.service import MIN_SECRET_CHARACTERS, ServiceSettings

SECRET = "HEDDLE_IDENTITY_SECRET"  # noqa: S105 - the variable's name, not what it holds
SOON = 15.0
"""Seconds for calls that are usually fast."""
SECRET_FILE = "HEDDLE_LOCAL_SECRET_FILE"  # noqa: S105 - likewise


def authorized(channel: grpc.Channel, identity: Identity = OPERATOR) -> grpc.Channel:
    """Return the channel with an id, a deadline and, if there is a secret, a token in each call."""
    return cast("grpc.Channel", _AuthorizedChannel(channel, identity))


def service_named(name: str) -> str:
    """Return the full name of a gRPC service, for example of `knowledge`.

    Raises:
        InvalidRequestError: No contract has such a service.
    """
    full_name = name if "." in name else f"heddle.{name}.v1.{name.capitalize()}Service"
    names = _services()
    if full_name not in names:
        raise InvalidRequestError(
            f"No gRPC service is named {name!r}. There are: {', '.join(sorted(names))}."
        )
    return full_name


def _services() -> set[str]:
    """Return the full names of the services in the contracts."""
    modules = pkgutil.walk_packages(heddle.__path__, f"{heddle.__name__}.")
    contracts = [import_module(each.name) for each in modules if each.name.endswith("_pb2")]
    return {
        service.full_name
        for contract in contracts
        for service in contract.DESCRIPTOR.services_by_name.values()
    }


def services_secret() -> str:
    """Return the secret of the environment, else that of the services' file; empty without both.

    Raises:
        InvalidRequestError: A file cannot be read.
    """
    try:
        if secret := secret_in_file(SECRET) or os.environ.get(SECRET):
            return secret
    except SecretFileError as error:
        raise InvalidRequestError(str(error)) from None
    try:
        return read_secret(local_secret_file())
    except FileNotFoundError:
        return ""
    except OSError as error:
        message = f"The secret of the services cannot be read: {error}. Set {SECRET}."
        raise InvalidRequestError(message) from error


def local_secret_file() -> Path:
    """Return the file of the secret that the services of a machine share."""
    default = ServiceSettings.model_fields["local_secret_file"].default
    return Path(os.environ.get(SECRET_FILE) or default)


@cache
def signer(secret: str) -> TokenSigner:
    """Return the signer of `secret`, always the same one because it caches tokens.

    Raises:
        InvalidRequestError: The secret is too short.
    """
    if len(secret) < MIN_SECRET_CHARACTERS:
        raise InvalidRequestError(
            f"{SECRET} must hold the secret of the services, {MIN_SECRET_CHARACTERS} characters or "
            "more."
        )
    return TokenSigner(secret)


class _AuthorizedChannel:
    """The part of a channel that generated stubs use."""

    def __init__(self, channel: grpc.Channel, identity: Identity) -> None:
        self._channel = channel
        self._identity = identity

    def unary_unary(self, method: str, *args: Any, **options: Any) -> Callable[..., Any]:  # noqa: ANN401 - grpc's own
        """Return a callable for the unary method at `method`."""
        call = self._channel.unary_unary(method, *args, **options)
        return _with_token(method, call, self._identity)

    def unary_stream(self, method: str, *args: Any, **options: Any) -> Callable[..., Any]:  # noqa: ANN401 - grpc's own
        """Return a callable for the streaming method at `method`."""
        call = self._channel.unary_stream(method, *args, **options)
        return _with_token(method, call, self._identity)


def _with_token(method: str, call: Callable[..., Any], identity: Identity) -> Callable[..., Any]:
    def send(request: object, *, timeout: float = SOON) -> Any:  # noqa: ANN401 - the method's own response
        metadata: tuple[tuple[str, str], ...] = ((REQUEST_ID, new_request_id()),)
        if secret := services_secret():
            token = signer(secret).token(identity, service_of(method))
            metadata = (*metadata, (AUTHORIZATION, f"Bearer {token}"))
        return call(request, timeout=timeout, metadata=metadata)

    return send
