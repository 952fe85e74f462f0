"""The permissions for accounts."""

from collections.abc import Sequence

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import NotFoundError, PermissionDeniedError
from heddle_runtime.identity.callers import ADMIN, ORGANIZATION_ADMIN, Identity, home
from heddle_runtime.identity.permissions import may_administer, may_administer_in
from sqlalchemy import ColumnElement, and_, false, true

from heddle_assistants.database.schema import api_keys, organizations

GRANTABLE_SCOPES = (ORGANIZATION_ADMIN, ADMIN)
"""The scopes that a key can have. `service` is not among them: services sign their own tokens."""


def visible_keys(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of the keys that `identity` may see and revoke."""
    if may_administer_in(identity, home(identity)):
        return visible_organizations(identity)
    at_home = organizations.c.slug == home(identity)
    return and_(at_home, api_keys.c.user_email == identity.subject)


def visible_organizations(identity: Identity) -> ColumnElement[bool]:
    """Return the condition of the organisations that `identity` may see."""
    if may_administer(identity):
        return true()
    own = home(identity)
    return organizations.c.slug == own if may_administer_in(identity, own) else false()


def require_administrator(identity: Identity, organization: str) -> None:
    """Raise the error of a missing organisation if `identity` does not administer it."""
    if not may_administer_in(identity, organization):
        raise no_organization(organization)


def require_may_make(identity: Identity, key: pb.Key) -> None:
    """Refuse to make a key for another user, unless `identity` administers the organisation."""
    if may_administer_in(identity, key.organization):
        return
    if key.organization != home(identity):
        raise no_organization(key.organization)
    # Alike for people that there are and that there are not.
    if not key.user or key.user != identity.subject:
        raise PermissionDeniedError("You can make keys for yourself only.")
    if key.trusted:
        raise PermissionDeniedError("Only administrators make keys that speak for others.")


def require_scopes(identity: Identity, scopes: Sequence[str]) -> None:
    """Refuse scopes that `identity` does not have itself."""
    for scope in scopes:
        if not may_administer(identity) and scope not in identity.scopes:
            raise PermissionDeniedError(f"You have no scope {scope!r} that you could give.")


def no_organization(slug: str) -> NotFoundError:
    """Return the error about an organisation that is missing, or must seem so."""
    return NotFoundError(f"No organisation is named {slug[:200]!r}.", organization=slug[:200])
