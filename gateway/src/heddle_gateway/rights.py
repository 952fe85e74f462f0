"""What the gateway itself has to know of the caller's rights. Services judge on their own."""

from heddle_runtime.identity import Identity

DEFAULT_ORGANIZATION = "default"
"""Where callers are at home who name no organisation."""


def may_change(identity: Identity, owner: str, organization: str) -> bool:
    """Say whether the assistant service lets `identity` change an assistant."""
    if "admin" in identity.scopes:
        return True
    inside = organization in ("", identity.organization or DEFAULT_ORGANIZATION)
    return inside and (identity.subject == owner or "organization_admin" in identity.scopes)
