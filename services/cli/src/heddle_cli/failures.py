"""Failed calls as one sentence, and where to read more."""

import os
import socket
from typing import cast

import grpc
from heddle_runtime.errors import HeddleError, UnauthenticatedError, UnavailableError, from_rpc
from heddle_runtime.errors.guide import anchor

from heddle_cli.terminal import plain

_SHORT_SECONDS = 1.0
_REFUSED = ("Socket closed", "handshake failed")
"""What gRPC reports if one side uses TLS and the other does not, or trusts another authority. A
service that stops during a call closes its sockets, too."""
_CONNECT_SECONDS = 1.0


def failure(error: grpc.RpcError, address: str) -> HeddleError:
    """Return the exception for a failed call to `address`."""
    # Errors of synchronous calls have the methods of asynchronous ones, without their type.
    known = from_rpc(cast("grpc.aio.AioRpcError", error))
    details = cast("grpc.Call", error).details() or ""
    unreached = "grpc_code" in known.metadata  # a message of gRPC, not of a service
    if unreached and isinstance(known, UnavailableError):
        if any(sign in details for sign in _REFUSED) and listens(address):
            message = (
                f"{address} does not accept the connection. If the services use TLS, set "
                "HEDDLE_TLS_CERTIFICATE, HEDDLE_TLS_KEY and HEDDLE_TLS_CA, with a certificate of "
                "their authority. Otherwise set none of them."
            )
            return UnavailableError(message)
        return UnavailableError(f"Nothing answers at {address}. Is the service running there?")
    return known


def listens(address: str) -> bool:
    """Return whether a process accepts connections at HOST:PORT; True for other addresses."""
    host, separator, port = address.rpartition(":")
    if not separator or not port.isdecimal():
        return True
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def sentence(error: HeddleError) -> str:
    """Return the message, the violations and the remedy of an error on one line."""
    parts = [error.message]
    if error.violations:
        parts.append("; ".join(f"{v.field}: {v.description}" for v in error.violations) + ".")
    # The user needs a second to read this.
    if error.retry_after is not None and error.retry_after > _SHORT_SECONDS:
        parts.append(f"Try again in {error.retry_after:g} s.")
    if isinstance(error, UnauthenticatedError):
        parts.append(
            "Set HEDDLE_IDENTITY_SECRET to the secret of the services, or run the command in the "
            "folder that they were started in."
        )
    return " ".join(plain(" ".join(parts)).split())


def where_to_read(error: HeddleError) -> str:
    """Return where the causes and remedies of a failure are."""
    if site := os.environ.get("HEDDLE_DOCUMENTATION_URL"):
        return f"See {site.rstrip('/')}/reference/errors.html#{anchor(error.reason)}"
    return f"See `heddle explain {anchor(error.reason)}`"
