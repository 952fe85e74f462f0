"""Who may do what with accounts."""

from collections.abc import Sequence
from dataclasses import dataclass

from heddle_runtime.errors import NotFoundError, PermissionDeniedError
from heddle_runtime.identity import ADMIN, ORGANIZATION_ADMIN, Identity, home
from heddle_runtime.permissions import may_administer, may_administer_in

GRANTABLE_SCOPES = (ORGANIZATION_ADMIN, ADMIN)
"""What a key can be given. `service` is none of them: services sign for themselves."""


@dataclass(frozen=True, slots=True)
class KeysOf:
    """Whose keys somebody may see. None is no restriction."""

    organization: str | None = None
    user: str | None = None

    def within(self, organization: str) -> "KeysOf | None":
        """Return those of one organisation, all if it is empty; None if that leaves none."""
        if not organization:
            return self
        if self.organization not in (None, organization):
            return None
        return KeysOf(organization, self.user)


def visible_keys(identity: Identity) -> KeysOf:
    """Return whose keys `identity` may see and revoke."""
    if may_administer(identity):
        return KeysOf()
    own = home(identity)
    return KeysOf(own) if may_administer_in(identity, own) else KeysOf(own, identity.subject)


def visible_organization(identity: Identity) -> str | None:
    """Return the slug of the only organisation that `identity` may see.

    None if there is no restriction, an empty string if it may see none.
    """
    if may_administer(identity):
        return None
    return home(identity) if may_administer_in(identity, home(identity)) else ""


def require_administrator(identity: Identity, organization: str) -> None:
    """Answer about an organisation that `identity` does not administer as if there were none."""
    if not may_administer_in(identity, organization):
        raise no_organization(organization)


def require_may_make(
    identity: Identity, *, organization: str, user: str | None, trusted: bool
) -> None:
    """Refuse to make a key for somebody else, unless `identity` administers the organisation."""
    if may_administer_in(identity, organization):
        return
    if organization != home(identity):
        raise no_organization(organization)
    if user != identity.subject:  # alike for people that there are and that there are not
        raise PermissionDeniedError("You can make keys for yourself only.")
    if trusted:
        raise PermissionDeniedError("Only administrators make keys that speak for others.")


def require_scopes(identity: Identity, scopes: Sequence[str]) -> None:
    """Refuse to give what `identity` has not itself."""
    for scope in scopes:
        if not may_administer(identity) and scope not in identity.scopes:
            raise PermissionDeniedError(f"You have no scope {scope!r} that you could give.")


def no_organization(slug: str) -> NotFoundError:
    """Return the error about an organisation that is missing, or must seem so."""
    return NotFoundError(f"No organisation is named {slug[:200]!r}.", organization=slug[:200])
