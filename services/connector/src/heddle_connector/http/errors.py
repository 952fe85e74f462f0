"""Typed errors for connections to providers that fail."""

import errno

from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ProviderGarbledError,
    UnavailableError,
)
from heddle_runtime.http.egress import SETTING, ForbiddenAddressError

DEFAULT_STALL_SECONDS = 60.0
_SERVICE_UNAVAILABLE = 503
_REFUSED_OR_RESET = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE)


class NoResponseError(ConnectionResetError):
    """The provider closed the connection before the first byte of its response."""

    def __init__(self, *, reused: bool) -> None:
        super().__init__(errno.ECONNRESET, "closed without a response")
        self.reused = reused
        """The connection had served earlier requests: the provider closed it as idle."""


def is_retryable(error: UnavailableError) -> bool:
    """Return whether the provider has not acted yet and may be available in a moment."""
    cause = error.__cause__
    if cause is None:
        overloaded = error.metadata.get("http_status") == str(_SERVICE_UNAVAILABLE)
        return overloaded and error.retry_after is None
    return isinstance(cause, OSError) and cause.errno in _REFUSED_OR_RESET


def is_stale_connection(error: UnavailableError) -> bool:
    """Return whether the provider closed an idle connection that the pool still held."""
    return isinstance(error.__cause__, NoResponseError) and error.__cause__.reused


def unreachable(url: str, error: Exception) -> UnavailableError:
    """Return the error for a provider that sent no response."""
    cause = f"{url}: {type(error).__name__}"
    if isinstance(error, ForbiddenAddressError):
        return UnavailableError(
            "The provider's address is in a private network. Ask the operator to allow it.",
            diagnosis=f"{cause}: {SETTING} does not allow the address",
        )
    return UnavailableError(
        "The model's provider cannot be reached. Try again later.", diagnosis=f"{cause}: {error}"
    )


def connection_lost() -> HeddleError:
    """Return the error for a connection that broke during a response."""
    return UnavailableError("The connection to the provider was lost in mid-answer.")


def malformed_response() -> HeddleError:
    """Return the error for a response that is cut off or not HTTP."""
    return ProviderGarbledError("The provider broke off in mid-answer, or does not speak HTTP.")


def timed_out() -> DeadlineError:
    """Return the error for a request whose time limit has passed."""
    return DeadlineError("The provider did not answer in the time of the call.")


def stalled() -> UnavailableError:
    """Return the error for a provider that stopped in the middle of an answer."""
    return UnavailableError(
        "The model stopped in the middle of its answer. Try again.",
        diagnosis="The provider sent nothing for HEDDLE_CONNECTOR_STALL_SECONDS.",
    )
