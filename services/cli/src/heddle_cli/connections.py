"""Calls of the operator: a channel, a deadline, an identity."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

import grpc
from heddle_runtime.call_metadata import AUTHORIZATION, REQUEST_ID, CallOptions, new_request_id
from heddle_runtime.client import OPTIONS, contract_of, service_config
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity import OPERATOR, TokenSigner
from heddle_runtime.secret_file import read_secret
from heddle_runtime.settings import ServiceSettings

from heddle_cli.failures import failure

StubT = TypeVar("StubT")
SECRET = "HEDDLE_IDENTITY_SECRET"  # noqa: S105 - the variable's name, not what it holds
SECRET_FILE = "HEDDLE_IDENTITY_SECRET_FILE"  # noqa: S105 - likewise
_SHORTEST = 32
SOON = 15.0
"""Seconds for calls that are usually fast."""


@dataclass(frozen=True, slots=True)
class Connection(Generic[StubT]):
    """A connection to a service."""

    stub: StubT
    channel: grpc.Channel
    address: str

    def failure(self, error: grpc.RpcError) -> HeddleError:
        """Return the exception for a failed call of this service."""
        return failure(error, self.address)


@contextmanager
def connected(address: str, stub: Callable[[grpc.Channel], StubT]) -> Iterator[Connection[StubT]]:
    """Yield the service at `address`. A failed call leaves the block as a `HeddleError`.

    Args:
        address: Of the service, as HOST:PORT.
        stub: The generated stub class of the service.

    Raises:
        InvalidRequestError: The address is empty; gRPC would not report that.
    """
    if not address.strip():
        raise InvalidRequestError("The address of the service is empty. Write it as HOST:PORT.")
    options = [*OPTIONS, ("grpc.service_config", json.dumps(service_config(contract_of(stub))))]
    channel = grpc.insecure_channel(address, options)
    connection = Connection(stub(channel), channel, address)
    try:
        yield connection
    except grpc.RpcError as error:
        raise connection.failure(error) from error
    finally:
        # Not after Ctrl-C: gRPC may wait forever for the interrupted call.
        if not isinstance(sys.exception(), KeyboardInterrupt):
            channel.close()


def new_call_options(timeout: float = SOON) -> CallOptions:
    """Return the options of a call: its deadline, an id, and a token if there is a secret.

    Use as `stub.Method(request, **new_call_options(seconds))`. Call it once per RPC: the token is
    short-lived.
    """
    metadata = [(REQUEST_ID, new_request_id())]
    if secret := services_secret():
        metadata.append((AUTHORIZATION, f"Bearer {signer(secret).token(OPERATOR)}"))
    return {"timeout": timeout, "metadata": tuple(metadata)}


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
