"""Who may do what with things that have an owner and an organisation.

The owner and the administrators of the owner's organisation may change a thing, everybody of the
organisation may use a published one. Users of two organisations may have one name, so an owner
counts only in the own organisation.
"""

from typing import Protocol

from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity import (
    ADMIN,
    ANONYMOUS,
    ORGANIZATION_ADMIN,
    SERVICE,
    Identity,
    home,
)

_KEY = "key:"


class Owned(Protocol):
    """Something that somebody owns."""

    @property
    def owner(self) -> str:
        """The owner's e-mail address."""

    @property
    def organization(self) -> str:
        """The slug of the organisation that it is in; everybody's if empty."""


class Publishable(Owned, Protocol):
    """Something that an owner lets others use."""

    @property
    def published(self) -> bool:
        """Whether others of the organisation may use it."""


def may_administer(identity: Identity) -> bool:
    """Return whether `identity` may do everything."""
    # Without a secret, on one machine, there is nobody else.
    return identity == ANONYMOUS or ADMIN in identity.scopes


def may_administer_in(identity: Identity, organization: str) -> bool:
    """Return whether `identity` may do everything within an organisation."""
    if may_administer(identity):
        return True
    return ORGANIZATION_ADMIN in identity.scopes and organization in ("", home(identity))


def owns(identity: Identity, it: Owned) -> bool:
    """Return whether `identity` is the owner."""
    at_home = it.organization in ("", home(identity))
    return at_home and bool(it.owner) and it.owner == identity.subject


def may_change(identity: Identity, it: Owned) -> bool:
    """Return whether `identity` may change something."""
    return may_administer_in(identity, it.organization) or owns(identity, it)


def may_inspect(identity: Identity, it: Owned) -> bool:
    """Return whether `identity` may read how something works: its prompts, tools and settings.

    Services may. What is in no organisation and has no owner is the operator's.
    """
    if SERVICE in identity.scopes or may_administer(identity) or owns(identity, it):
        return True
    return ORGANIZATION_ADMIN in identity.scopes and it.organization == home(identity)


def may_read(identity: Identity, it: Publishable) -> bool:
    """Return whether `identity` may read something."""
    if may_change(identity, it):
        return True
    return it.published and it.organization in ("", home(identity))


def may_use(identity: Identity, it: Publishable) -> bool:
    """Return whether `identity` may use something, as services may for others."""
    return SERVICE in identity.scopes or may_read(identity, it)


def may_own(identity: Identity) -> bool:
    """Return whether `identity` is somebody; a key of an organisation is not."""
    return not identity.subject.startswith(_KEY)


def require_administrator(identity: Identity) -> None:
    """Reject everybody who may not do everything.

    Raises:
        PermissionDeniedError: `identity` may not.
    """
    if not may_administer(identity):
        raise PermissionDeniedError("Only a caller with the scope 'admin' may do this.")


def require_service(identity: Identity) -> None:
    """Reject everybody but services that act for themselves.

    Raises:
        PermissionDeniedError: `identity` is not a service.
    """
    if identity != ANONYMOUS and SERVICE not in identity.scopes:
        raise PermissionDeniedError("Only Heddle's own services may ask for this.")
