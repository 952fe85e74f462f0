"""Checks requests beyond the fields that the contract marks as required."""

import re
import time

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_assistants.accounts.access import GRANTABLE_SCOPES

ROLES = ("member", "creator", "admin")
NEW_USER_ROLES = ("member", "creator")
DEFAULT_ROLE = "member"
_SLUG = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}", re.ASCII)
# Where it stands for a caller it must not look like one that is no user: those have no @.
_EMAIL = re.compile(r"[!-?A-~]{1,64}@[!-?A-~]{1,190}", re.ASCII)
_LONGEST_NAME = 200
_MOST_COLLECTIONS = 1000


def check_slug(slug: str) -> None:
    """Refuse a text that cannot be the slug of a new organisation."""
    if not _SLUG.fullmatch(slug):
        what = "must be small letters, digits, - and _, at most 63 and no - or _ first"
        raise _wrong("organization.slug", what)


def check_name(name: str, path: str) -> None:
    """Refuse a name that is too long, or contains control characters of a terminal."""
    if len(name) > _LONGEST_NAME or not name.isprintable():
        raise _wrong(path, f"must be at most {_LONGEST_NAME} printable characters")


def check_user(request: pb.PutUserRequest) -> None:
    """Refuse a user with a wrong address, role or name."""
    if not _EMAIL.fullmatch(request.email):
        raise _wrong("email", "must be an e-mail address")
    if request.role and request.role not in ROLES:
        raise _wrong("role", f"must be one of {', '.join(ROLES)}")
    check_name(request.name, "name")


def check_new_user(request: pb.SignInWithProviderRequest) -> None:
    """Refuse a provider's sign-in with a wrong address, or a wrong new user."""
    if not _EMAIL.fullmatch(request.email):
        raise _wrong("email", "must be an e-mail address")
    if not request.HasField("new_user"):
        return
    user = request.new_user
    if user.role and user.role not in NEW_USER_ROLES:
        raise _wrong("new_user.role", f"must be one of {', '.join(NEW_USER_ROLES)}")
    if request.organizations and user.organization not in request.organizations:
        raise _wrong("new_user.organization", "must be one of the organisations of the provider")
    check_name(user.name, "new_user.name")


def check_own(email: str, subject: str) -> None:
    """Refuse to change the password of another user without naming the organisation."""
    if email and canonical_email(email) != subject:
        raise _wrong("organization", "must name the organisation of another user")


def check_other(email: str, subject: str) -> None:
    """Refuse that callers remove themselves."""
    if email == subject:
        raise _wrong("email", "is your own; another administrator can remove you")


def check_key(key: pb.Key) -> None:
    """Refuse a key with a wrong name, a scope that keys cannot have, or a past expiry."""
    check_name(key.name, "key.name")
    for scope in key.scopes:
        if scope not in GRANTABLE_SCOPES:
            raise _wrong(
                "key.scopes", f"may hold {' and '.join(GRANTABLE_SCOPES)}, not {scope[:50]!r}"
            )
    if key.HasField("expire_time") and key.expire_time.seconds <= time.time():
        raise _wrong("key.expire_time", "must be in the future")


def check_collections(request: pb.ResolveCollectionsRequest) -> None:
    """Refuse a request about more collections than one response can list."""
    if len(request.ids) > _MOST_COLLECTIONS:
        raise _wrong("ids", f"must be at most {_MOST_COLLECTIONS}")


def _wrong(path: str, what: str) -> InvalidRequestError:
    return InvalidRequestError("The request is not valid.", [Violation(path, what)])
