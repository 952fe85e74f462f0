"""Calls of the operator: a channel, a deadline, an identity."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

import grpc
from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity.callers import OPERATOR, Identity
from heddle_runtime.rpc.client import OPTIONS, contract_of, service_config
from heddle_runtime.serving.optional import optional_service_names
from heddle_runtime.settings.addresses import (
    ASSISTANTS,
    CONNECTOR,
    KNOWLEDGE,
    MIGRATION,
    ORCHESTRATOR,
    TOOLS,
)
from heddle_runtime.settings.mutual_tls import channel_from_environment
from heddle_runtime.settings.service_address import Location, replica_locations

from heddle_cli.failures import failure
from heddle_cli.secret import authorized

StubT = TypeVar("StubT")
_DEFAULTS = {
    "orchestrator": ORCHESTRATOR,
    "tools": TOOLS,
    "knowledge": KNOWLEDGE,
    "connector": CONNECTOR,
    "assistants": ASSISTANTS,
    "migration": MIGRATION,
}


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
def connected(
    service: str | Location,
    stub: Callable[[grpc.Channel], StubT],
    identity: Identity = OPERATOR,
) -> Iterator[Connection[StubT]]:
    """Yield a service. A failed call leaves the block as a `HeddleError`.

    Each call gets an id, and a deadline after `SOON` unless it names another `timeout`.

    Args:
        service: Its name, or where one of its `replicas` is.
        stub: The generated stub class of the service.
        identity: Who calls.

    Raises:
        InvalidRequestError: The address is empty, which gRPC would not report, or the files of
            mutual TLS are not usable.
    """
    address = service if isinstance(service, Location) else addresses()[service]
    if not str(address).strip():
        raise InvalidRequestError("The address of the service is empty. Write it as HOST:PORT.")
    options = [*OPTIONS, ("grpc.service_config", json.dumps(service_config(contract_of(stub))))]
    channel = channel_from_environment(address, options)
    connection = Connection(stub(authorized(channel, identity)), channel, str(address))
    try:
        yield connection
    except grpc.RpcError as error:
        raise connection.failure(error) from error
    finally:
        # Not after Ctrl-C: gRPC may wait forever for the interrupted call.
        if not isinstance(sys.exception(), KeyboardInterrupt):
            channel.close()


def replicas(address: str) -> list[Location]:
    """Return where each replica of a service is.

    Raises:
        InvalidRequestError: It is no address.
    """
    try:
        return replica_locations(address)
    except ValueError as error:
        raise InvalidRequestError(f"{error}.") from error


def addresses() -> dict[str, str]:
    """Return the addresses of the services by name, of the environment or the defaults."""
    optional = optional_service_names()
    return {
        name: os.environ.get(f"HEDDLE_{name.upper()}_ADDRESS") or default
        for name, default in _DEFAULTS.items()
        if name != "migration" or name in optional
    }
