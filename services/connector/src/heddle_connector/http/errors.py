"""What goes wrong on the way to a provider, as typed errors; the same for both HTTP clients."""

import errno

import structlog
from heddle_runtime.egress import SETTING, ForbiddenAddressError
from heddle_runtime.errors import (
    DeadlineError,
    HeddleError,
    ProviderGarbledError,
    UnavailableError,
)

_UNAVAILABLE = 503
_TORN = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE)
log = structlog.get_logger(__name__)


class UnansweredError(ConnectionResetError):
    """The provider closed the connection before the first byte of its answer."""

    def __init__(self, *, pooled: bool) -> None:
        super().__init__(errno.ECONNRESET, "closed without an answer")
        self.pooled = pooled
        """The connection had served before: the provider closed it for its age."""


def worth_repeating(error: UnavailableError) -> bool:
    """Return whether the provider has done nothing yet and may do so in a moment."""
    cause = error.__cause__
    if cause is None:
        overloaded = error.metadata.get("http_status") == str(_UNAVAILABLE)
        return overloaded and error.retry_after is None
    return isinstance(cause, OSError) and cause.errno in _TORN


def outdated(error: UnavailableError) -> bool:
    """Return whether nothing was wrong but the age of the connection."""
    return isinstance(error.__cause__, UnansweredError) and error.__cause__.pooled


def unreachable(url: str, error: Exception) -> UnavailableError:
    """Return the error of a provider that did not begin to answer."""
    # The caller learns no address of our network; the operator does.
    log.info("provider unreachable", url=url, problem=type(error).__name__)
    if isinstance(getattr(error, "os_error", error), ForbiddenAddressError):
        return UnavailableError(
            "The provider's address is in a private network. The operator can allow it with "
            f"{SETTING}."
        )
    return UnavailableError("The provider cannot be reached. Try again later.")


def lost() -> HeddleError:
    """Return the error of a connection that broke."""
    return UnavailableError("The connection to the provider was lost in mid-answer.")


def garbled() -> HeddleError:
    """Return the error of an answer that is cut off, or not HTTP."""
    return ProviderGarbledError("The provider broke off in mid-answer, or does not speak HTTP.")


def late() -> DeadlineError:
    """Return the error of a request whose seconds ran out."""
    return DeadlineError("The provider did not answer in the time of the call.")
