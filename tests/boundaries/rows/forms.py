"""What rows share."""

from collections.abc import Callable

Check = Callable[[int], object]
"""Raises, or returns (or its awaitable does) something true if a size is refused or shortened."""


def entries(count: int) -> dict[str, str]:
    """Return a dictionary of a size."""
    return {f"k{number}": "v" for number in range(count)}
