"""Where calls from other processes come in: how many at once, and who makes each."""

from heddle_runtime.call_metadata import CALLER, Caller, new_request_id
from heddle_runtime.errors import ResourceExhaustedError
from heddle_runtime.identity import ANONYMOUS, Identity, TokenVerifier

_LONGEST_ID = 128


class AdmissionControl:
    """Counts the calls that are in, and sets the caller of each. Use as `with entrance:`."""

    def __init__(self, verifier: TokenVerifier | None, max_calls: int) -> None:
        self._verifier = verifier
        self._max_calls = max_calls
        self._calls = 0

    def __enter__(self) -> None:
        if self._calls >= self._max_calls:
            raise ResourceExhaustedError("The service is busy. Try again later.")
        self._calls += 1

    def __exit__(self, *_: object) -> None:
        self._calls -= 1

    def enter(self, request_id: str, authorization: str, traceparent: str, grant: str = "") -> None:
        """Set the caller of the current call from its metadata. The grant is not verified here.

        Raises:
            UnauthenticatedError: The authorization holds no valid token.
        """
        request_id = _sane(request_id) or new_request_id()
        CALLER.set(Caller(request_id))  # so that a refusal is logged under the id
        token = authorization.removeprefix("Bearer ")
        identity = self._identity(token)
        CALLER.set(Caller(request_id, identity, token, _sane(traceparent), grant))

    def _identity(self, token: str) -> Identity:
        return ANONYMOUS if self._verifier is None else self._verifier.identity(token)


def _sane(text: str) -> str:
    """Return what can be handed on as the metadata of a call, and fits into a log line."""
    return text[:_LONGEST_ID] if text.isascii() and text.isprintable() else ""
