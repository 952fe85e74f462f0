"""Who may do what with assistants: the one place that says so, to Python and to SQL.

The owner and the administrators of the owner's organisation may change an assistant, everybody of
the organisation may use a published one. Two users of two organisations may have one name, so an
owner is one only within the own organisation.
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
from sqlalchemy import ColumnElement, and_, or_, select, true

from heddle_assistants.database.schema import assistants, organizations

_KEY = "key:"


class Owned(Protocol):
    """Something that somebody owns."""

    @property
    def owner(self) -> str:
        """Who."""

    @property
    def organization(self) -> str:
        """The slug of the organisation that it is in; everybody's if empty."""


class Publishable(Owned, Protocol):
    """Something that an owner lets others use."""

    @property
    def published(self) -> bool:
        """Whether others of the organisation may use it."""


def may_administer(identity: Identity) -> bool:
    """Say whether `identity` may do everything."""
    # Without a secret, on one machine, there is nobody else.
    return identity == ANONYMOUS or ADMIN in identity.scopes


def may_administer_in(identity: Identity, organization: str) -> bool:
    """Say whether `identity` may do everything within an organisation."""
    if may_administer(identity):
        return True
    return ORGANIZATION_ADMIN in identity.scopes and organization in ("", home(identity))


def may_change(identity: Identity, it: Owned) -> bool:
    """Say whether `identity` may change an assistant."""
    return may_administer_in(identity, it.organization) or owns(identity, it)


def owns(identity: Identity, it: Owned) -> bool:
    """Say whether `identity` is the owner of an assistant."""
    at_home = it.organization in ("", home(identity))
    return at_home and bool(it.owner) and it.owner == identity.subject


def may_use(identity: Identity, it: Publishable) -> bool:
    """Say whether `identity` may use an assistant."""
    if SERVICE in identity.scopes or may_change(identity, it):
        return True
    return it.published and it.organization in ("", home(identity))


def may_own(identity: Identity) -> bool:
    """Say whether `identity` is somebody; a key of an organisation is not."""
    return not identity.subject.startswith(_KEY)


def require_administrator(identity: Identity) -> None:
    """Refuse everybody who may not do everything.

    Raises:
        PermissionDeniedError: `identity` may not.
    """
    if not may_administer(identity):
        raise PermissionDeniedError("Only a caller with the scope 'admin' may do this.")


def changeable(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of rows that `identity` may change."""
    if may_administer(identity):
        return true()
    return _at_home(identity) if ORGANIZATION_ADMIN in identity.scopes else owned(identity)


def owned(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of rows that `identity` owns."""
    return and_(assistants.c.owner == identity.subject, _at_home(identity))


def offered(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of published rows that `identity` may use."""
    if SERVICE in identity.scopes or may_administer(identity):
        return assistants.c.published
    return and_(assistants.c.published, _at_home(identity))


def usable(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of rows that `identity` may use."""
    if SERVICE in identity.scopes:
        return true()
    return or_(changeable(identity), offered(identity))


def _at_home(identity: Identity) -> ColumnElement[bool]:
    slug = organizations.c.slug == home(identity)
    return assistants.c.organization_id == select(organizations.c.id).where(slug).scalar_subquery()
