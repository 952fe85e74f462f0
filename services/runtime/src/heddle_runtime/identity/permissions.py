"""The permissions: the rights of each role, and the rules for things that have an owner.

`LEAST_ROLES` is the table of rights. A contract names the right that a method needs, and the server
refuses the call of a role without it.

The owner and the administrators of the owner's organisation may change a thing, everybody of the
organisation may use a published one. Users of two organisations may have one name, so an owner
counts only in the own organisation.
"""

from collections.abc import Mapping
from typing import Literal, Protocol, get_args

from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.callers import (
    ADMIN,
    CREATOR,
    ORGANIZATION_ADMIN,
    SERVICE,
    Identity,
    home,
)

_KEY = "key:"
Role = Literal["member", "creator", "admin", "operator"]
ROLES: tuple[Role, ...] = get_args(Role)
"""Each has the rights of those before it."""
Right = Literal[
    "use_assistants",
    "manage_assistants",
    "run_tools",
    "manage_rubrics",
    "manage_collections",
    "manage_own_keys",
    "manage_organization",
    "manage_users",
    "manage_keys",
    "read_audit",
    "manage_installation",
]
LEAST_ROLES: Mapping[Right, Role] = {
    "use_assistants": "member",
    "manage_assistants": "creator",
    "run_tools": "creator",
    "manage_rubrics": "creator",
    "manage_collections": "creator",
    "manage_own_keys": "creator",
    "manage_organization": "admin",
    "manage_users": "admin",
    "manage_keys": "admin",
    "read_audit": "admin",
    "manage_installation": "operator",
}
"""By right, the first of `ROLES` that has it. Its meaning is in `heddle.call.v1.Right`."""
_SCOPES = {"creator": (CREATOR,), "admin": (CREATOR, ORGANIZATION_ADMIN)}


class Owned(Protocol):
    """A thing with an owner."""

    @property
    def owner(self) -> str:
        """The owner's e-mail address."""

    @property
    def organization(self) -> str:
        """The slug of the organisation that it is in; everybody's if empty."""


class Publishable(Owned, Protocol):
    """A thing that its owner can publish."""

    @property
    def published(self) -> bool:
        """Whether others of the organisation may use it."""


def scopes_of(role: str) -> tuple[str, ...]:
    """Return the scopes of a user with a role in an organisation."""
    return _SCOPES.get(role, ())


def role_of(identity: Identity) -> Role:
    """Return the role of a caller in its organisation."""
    if may_administer(identity):
        return "operator"
    if ORGANIZATION_ADMIN in identity.scopes:
        return "admin"
    return "creator" if CREATOR in identity.scopes else "member"


def has(identity: Identity, right: Right) -> bool:
    """Return whether the role of a caller has a right."""
    return ROLES.index(role_of(identity)) >= ROLES.index(LEAST_ROLES[right])


def require(identity: Identity, right: Right) -> None:
    """Reject callers whose role lacks a right.

    Raises:
        PermissionDeniedError: The role lacks it.
    """
    if not has(identity, right):
        raise PermissionDeniedError(
            f"The role {role_of(identity)!r} lacks the right {right!r}; the role "
            f"{LEAST_ROLES[right]!r} has it. An administrator of the organisation changes roles.",
            right=right,
        )


def may_administer(identity: Identity) -> bool:
    """Return whether `identity` may do everything."""
    return ADMIN in identity.scopes


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
    """Return whether `identity` is a user; the key of an organisation is not."""
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
    if SERVICE not in identity.scopes:
        raise PermissionDeniedError("Only Heddle's own services may ask for this.")
