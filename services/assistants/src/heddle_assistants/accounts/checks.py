"""Checks requests beyond the fields that the contract marks as required."""

import re
import time

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email

from heddle_assistants.accounts.access import GRANTABLE_SCOPES
from heddle_assistants.field_checks import require

ROLES = ("member", "creator", "admin")
NEW_USER_ROLES = ("member", "creator")
DEFAULT_ROLE = "member"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
# Where it stands for a caller it must not look like one that is no user: those have no @.
_EMAIL = re.compile(r"[!-?A-~]{1,64}@[!-?A-~]{1,190}", re.ASCII)
_LONGEST_NAME = 200


def check_slug(slug: str) -> None:
    """Refuse a text that cannot be the slug of a new organisation."""
    what = "must be small letters, digits, - and _, at most 63 and no - or _ first"
    require(bool(_SLUG.fullmatch(slug)), "organization.slug", what)


def check_name(name: str, path: str) -> None:
    """Refuse a name that is too long, or contains control characters of a terminal."""
    fits = len(name) <= _LONGEST_NAME and name.isprintable()
    require(fits, path, f"must be at most {_LONGEST_NAME} printable characters")


def check_user(request: pb.PutUserRequest) -> None:
    """Refuse a user with a wrong address, role or name."""
    require(bool(_EMAIL.fullmatch(request.email)), "email", "must be an e-mail address")
    require(request.role in ("", *ROLES), "role", f"must be one of {', '.join(ROLES)}")
    check_name(request.name, "name")


def check_new_user(request: pb.SignInWithProviderRequest) -> None:
    """Refuse a provider's sign-in with a wrong address, or a wrong new user."""
    require(bool(_EMAIL.fullmatch(request.email)), "email", "must be an e-mail address")
    if not request.HasField("new_user"):
        return
    user = request.new_user
    roles = ("", *NEW_USER_ROLES)
    require(user.role in roles, "new_user.role", f"must be one of {', '.join(NEW_USER_ROLES)}")
    allowed = not request.organizations or user.organization in request.organizations
    what = "must be one of the organisations of the provider"
    require(allowed, "new_user.organization", what)
    check_name(user.name, "new_user.name")


def check_own(email: str, subject: str) -> None:
    """Refuse to change the password of another user without naming the organisation."""
    is_own = not email or canonical_email(email) == subject
    require(is_own, "organization", "must name the organisation of another user")


def check_other(email: str, subject: str) -> None:
    """Refuse that callers remove themselves."""
    require(email != subject, "email", "is your own; another administrator can remove you")


def check_key(key: pb.Key) -> None:
    """Refuse a key with a wrong name, a scope that keys cannot have, or a past expiry."""
    check_name(key.name, "key.name")
    for scope in key.scopes:
        what = f"may hold {' and '.join(GRANTABLE_SCOPES)}, not {scope[:50]!r}"
        require(scope in GRANTABLE_SCOPES, "key.scopes", what)
    is_open = not key.HasField("expire_time") or key.expire_time.seconds > time.time()
    require(is_open, "key.expire_time", "must be in the future")
