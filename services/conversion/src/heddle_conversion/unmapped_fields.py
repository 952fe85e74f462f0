"""Values of the old format that have no place in the new one, kept where nobody acts on them."""

from collections.abc import Mapping
from typing import Any

LEFTOVERS = "_legacy"
"""The member, of a document or of a binding, that keeps them under their old names."""


def set_aside(owner: dict[str, Any], leftovers: Mapping[str, Any]) -> None:
    """Put `leftovers` into `owner`, beside whatever it has under that name already."""
    if not leftovers:
        return
    name = LEFTOVERS
    while name in owner:
        name += "_"
    owner[name] = dict(leftovers)


def left_over(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was set aside in `owner`."""
    kept = owner.get(LEFTOVERS)
    return dict(kept) if isinstance(kept, dict) else {}
