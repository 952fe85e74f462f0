"""What clients get if LAMB does not answer as it should."""

from heddle_gateway.http.error_responses import SERVER, ErrorResponse

_RETRY_SECONDS = 2.0


class LambError(Exception):
    """LAMB does not answer as it should."""

    def __init__(self, response: ErrorResponse, cause: str) -> None:
        """Create the error.

        Args:
            response: What the client gets if it has got nothing before.
            cause: What the operator reads in the log.
        """
        super().__init__(cause)
        self.response = response


class UnreachableError(LambError):
    """LAMB accepts no connection."""

    def __init__(self, cause: str) -> None:
        message = "LAMB cannot be reached at the moment. Try again."
        error = ErrorResponse(
            503, message, SERVER, code="lamb_unreachable", retry_after=_RETRY_SECONDS
        )
        super().__init__(error, cause)


class BusyError(LambError):
    """LAMB has as many requests as it may have."""

    def __init__(self, limit: int) -> None:
        message = "LAMB has too many requests at the moment. Try again."
        error = ErrorResponse(503, message, SERVER, code="lamb_busy", retry_after=_RETRY_SECONDS)
        super().__init__(error, f"LAMB has {limit} requests, see HEDDLE_LAMB_MAX_CONNECTIONS")


class SilentError(LambError):
    """LAMB has sent nothing for too long."""

    def __init__(self, seconds: float) -> None:
        message = "LAMB did not answer in time."
        error = ErrorResponse(504, message, SERVER, code="lamb_timeout", retry=False)
        super().__init__(
            error, f"nothing arrived for {seconds:g} s, see HEDDLE_LAMB_TIMEOUT_SECONDS"
        )


class GarbledError(LambError):
    """LAMB's response is no HTTP, or is ambiguous."""

    def __init__(self, cause: str) -> None:
        message = "LAMB's response is not valid."
        super().__init__(ErrorResponse(502, message, SERVER, code="lamb_garbled"), cause)


class CutError(LambError):
    """LAMB has closed the connection before its response was complete."""

    def __init__(self, cause: str = "the connection was closed") -> None:
        message = "LAMB ended the connection before its response was complete."
        super().__init__(ErrorResponse(502, message, SERVER, code="lamb_cut"), cause)
