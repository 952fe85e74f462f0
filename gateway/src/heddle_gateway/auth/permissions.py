"""What the gateway itself has to know of the caller's rights. Services judge on their own."""

from heddle_runtime.identity import ADMIN, ORGANIZATION_ADMIN, Identity, home


def may_change(identity: Identity, owner: str, organization: str) -> bool:
    """Say whether the assistant service lets `identity` change an assistant."""
    if ADMIN in identity.scopes:
        return True
    inside = organization in ("", home(identity))
    return inside and (identity.subject == owner or ORGANIZATION_ADMIN in identity.scopes)
