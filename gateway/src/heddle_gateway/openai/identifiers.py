"""Identifiers of answers and their parts."""

import random

_IDS = random.Random()  # noqa: S311 - an id is not secret and must be cheap


def new_id(prefix: str, separator: str = "_") -> str:
    """Return a new identifier."""
    return f"{prefix}{separator}{_IDS.getrandbits(128):032x}"
