"""Admission of calls from other processes: limits concurrency and authenticates the caller."""

from collections.abc import Callable

import structlog

from heddle_runtime.errors import ResourceExhaustedError, UnauthenticatedError
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_request_id
from heddle_runtime.identity.callers import DEVELOPER, Identity, TokenVerifier
from heddle_runtime.telemetry import log_fields
from heddle_runtime.telemetry.metrics import gauges

log = structlog.get_logger(__name__)
_MAX_ID_CHARACTERS = 128


class AdmissionControl:
    """Limits concurrent calls and sets the caller of each. Use as `with admission:`."""

    transport = "grpc"

    def __init__(
        self,
        verifier: TokenVerifier,
        max_calls: int,
        admits_developer: Callable[[], bool] = lambda: False,
    ) -> None:
        """Limit and authenticate calls.

        Args:
            verifier: Verifies the tokens.
            max_calls: The number of concurrent calls.
            admits_developer: Returns whether calls without a token are the developer's.
        """
        self._verifier = verifier
        self._admits_developer = admits_developer
        self.limit = max_calls
        """The maximum number of concurrent calls."""
        self.in_progress = 0
        """The number of calls in progress."""
        gauges.add_limited(self)

    def __enter__(self) -> None:
        if self.in_progress >= self.limit:
            raise ResourceExhaustedError("The service is busy. Try again later.")
        self.in_progress += 1

    def __exit__(self, *_: object) -> None:
        self.in_progress -= 1

    def authenticate(
        self,
        audience: str,
        request_id: str,
        authorization: str,
        traceparent: str,
        grant: str = "",
        *,
        fresh: bool = False,
    ) -> None:
        """Set the caller from the call's metadata. The service that uses a grant verifies it.

        `audience` is the full name of the gRPC service that the call is for.

        Raises:
            UnauthenticatedError: The authorization contains no valid token.
        """
        log_fields.begin()
        request_id = _sanitised(request_id) or new_request_id()
        CALLER.set(Caller(request_id))  # a rejected call is logged with its id
        identity = self.identity(authorization, audience)
        CALLER.set(Caller(request_id, identity, _sanitised(traceparent), grant, fresh))

    def identity(self, authorization: str, audience: str) -> Identity:
        """Return the identity in the metadata of a call.

        Raises:
            UnauthenticatedError: The authorization contains no valid token.
        """
        token = authorization.removeprefix("Bearer ")
        if not token and self._admits_developer():
            return DEVELOPER
        try:
            return self._verifier.identity(token, audience)
        except UnauthenticatedError:
            if token:
                log.warning(
                    "a token was refused. All services need the same HEDDLE_IDENTITY_SECRET or "
                    "HEDDLE_LOCAL_SECRET_FILE, and clocks that agree"
                )
            raise


def _sanitised(text: str) -> str:
    """Return the text if it is valid as metadata of a call, shortened for log lines; else `""`."""
    return text[:_MAX_ID_CHARACTERS] if text.isascii() and text.isprintable() else ""
