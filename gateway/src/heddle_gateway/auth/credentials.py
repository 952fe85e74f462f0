"""The credentials that authenticate a request."""

from dataclasses import dataclass

from heddle_runtime.identity.callers import Identity

from heddle_gateway.auth.sessions import Session


@dataclass(frozen=True, slots=True)
class KeyCredential:
    """An API key, or development mode without one."""

    identity: Identity
    expires_at: int | None = None
    """Seconds since 1970; None: never."""
    is_development: bool = False
    speaks_for_others: bool = False
    """Whether the key is trusted, and the request names no user in Open WebUI's headers."""


@dataclass(frozen=True, slots=True)
class SessionCredential:
    """The cookie of a session."""

    session: Session

    @property
    def identity(self) -> Identity:
        """The user."""
        return self.session.identity


AnyCredential = KeyCredential | SessionCredential
