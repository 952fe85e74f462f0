"""Failures to sign in with an identity provider."""


class SignInFailedError(Exception):
    """A user cannot sign in. The message is for the user; the cause is in the log."""

    def __init__(self, message: str, status: int = 400) -> None:
        """Store the message, and the HTTP status of its page."""
        super().__init__(message)
        self.status = status
