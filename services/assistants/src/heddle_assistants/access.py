"""Permissions for assistants, to Python and to SQL.

`heddle_runtime.permissions` says who may change one; all members of the organisation may use a
published one.
"""

from typing import Protocol

from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity import ORGANIZATION_ADMIN, SERVICE, Identity, home
from heddle_runtime.permissions import Owned, may_administer, may_change
from sqlalchemy import ColumnElement, and_, or_, select, true

from heddle_assistants.database.schema import assistants, organizations

_KEY = "key:"


class Publishable(Owned, Protocol):
    """Something that an owner lets others use."""

    @property
    def published(self) -> bool:
        """Whether others of the organisation may use it."""


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
