"""Permissions for objects that belong to a user or to an organisation.

The owner and the administrators of the organisation may change an object. Two users of two
organisations may have the same name, so an owner is one only within its organisation.
"""

from typing import Protocol

from heddle_runtime.identity import ADMIN, ANONYMOUS, ORGANIZATION_ADMIN, Identity, home


class Owned(Protocol):
    """An object with an owner."""

    @property
    def owner(self) -> str:
        """The user; empty if it belongs to the organisation."""

    @property
    def organization(self) -> str:
        """The slug of the organisation; empty if it belongs to all."""


def may_administer(identity: Identity) -> bool:
    """Return whether `identity` may do everything."""
    # Without a secret, on one machine, there is no other identity.
    return identity == ANONYMOUS or ADMIN in identity.scopes


def may_administer_in(identity: Identity, organization: str) -> bool:
    """Return whether `identity` may do everything within an organisation."""
    if may_administer(identity):
        return True
    return ORGANIZATION_ADMIN in identity.scopes and organization in ("", home(identity))


def owns(identity: Identity, it: Owned) -> bool:
    """Return whether `identity` is the owner of an object."""
    at_home = it.organization in ("", home(identity))
    return at_home and bool(it.owner) and it.owner == identity.subject


def may_change(identity: Identity, it: Owned) -> bool:
    """Return whether `identity` may change an object."""
    return may_administer_in(identity, it.organization) or owns(identity, it)
