"""The collections that an author has chosen for a tool."""

from typing import Any, Protocol

from heddle_tools_service.sdk import OfferContext, ToolError


class Choosing(Protocol):
    """A configuration that names collections."""

    @property
    def collections(self) -> tuple[str, ...]:
        """Their names; empty ones mean nothing."""


def chosen(config: Choosing) -> tuple[str, ...]:
    """Return the names of the collections, each once."""
    return tuple(dict.fromkeys(filter(None, config.collections)))


def required(config: Choosing) -> tuple[str, ...]:
    """Return the names of the collections, each once.

    Raises:
        ToolError: There are none.
    """
    collections = chosen(config)
    if not collections:
        raise ToolError("No collections configured")
    return collections


def any_chosen(context: OfferContext[Any]) -> bool:
    """Say whether a tool has collections to look in."""
    return bool(chosen(context.config))
