"""Stores values of the old format that have no place in the new one. No code reads them."""

from collections.abc import Mapping
from typing import Any

UNMAPPED_FIELDS = "_legacy"
"""The member, of a document or of a binding, that keeps them under their old names."""


def set_aside(owner: dict[str, Any], fields: Mapping[str, Any]) -> None:
    """Put `fields` into `owner`, beside whatever it has under that name already."""
    if not fields:
        return
    name = UNMAPPED_FIELDS
    while name in owner:
        name += "_"
    owner[name] = dict(fields)


def unmapped_fields(owner: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that were set aside in `owner`."""
    fields = owner.get(UNMAPPED_FIELDS)
    return dict(fields) if isinstance(fields, dict) else {}
