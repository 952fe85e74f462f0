"""Permissions that the gateway itself checks. Services check their own."""

from heddle_runtime.identity import ADMIN, ORGANIZATION_ADMIN, Identity, home


def may_change(identity: Identity, owner: str, organization: str) -> bool:
    """Return whether the assistant service lets `identity` change an assistant."""
    if ADMIN in identity.scopes:
        return True
    member = organization in ("", home(identity))
    return member and (identity.subject == owner or ORGANIZATION_ADMIN in identity.scopes)
