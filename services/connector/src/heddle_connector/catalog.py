"""Which models there are, asked of all providers at once and remembered for a while."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import structlog
from heddle_runtime.errors import HeddleError

from heddle_connector.registry import Registry
from heddle_connector.sdk import Connector, Model

PATIENCE = 3.0
"""Seconds that a provider has to tell its models."""
_FRESH = 60.0
_FRESH_PROBLEM = 5.0  # short: someone may be mending it
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Listing:
    """The models of one connector, or why there are none."""

    connector: str
    models: Sequence[Model] = ()
    problem: str = ""


class Catalog:
    """Asks the connectors for their models."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._known: dict[str, tuple[float, Listing]] = {}

    async def listings(self, connector: str, seconds: float) -> Sequence[Listing]:
        """Return the listing of `connector`, or those of all if it is empty.

        Args:
            connector: A name, or nothing.
            seconds: The time of the call; a provider gets three seconds of it at most.

        Raises:
            NotFoundError: No connector has that name.
        """
        registry = self._registry
        chosen = {connector: registry.get(connector)} if connector else registry.connectors
        patience = min(PATIENCE, seconds)
        return await asyncio.gather(
            *(self._listing(name, found, patience) for name, found in chosen.items())
        )

    async def _listing(self, name: str, connector: Connector[Any], patience: float) -> Listing:
        end, known = self._known.get(name, (0.0, None))
        if known is not None and time.monotonic() < end:
            return known
        listing = await _ask(name, connector, patience)
        fresh = _FRESH_PROBLEM if listing.problem else _FRESH
        self._known[name] = (time.monotonic() + fresh, listing)
        return listing


async def _ask(name: str, connector: Connector[Any], patience: float) -> Listing:
    try:
        async with asyncio.timeout(patience):
            return Listing(name, await connector.models(patience))
    except HeddleError as error:
        return Listing(name, problem=error.message)
    except TimeoutError:
        return Listing(name, problem=f"The provider did not answer within {patience:.1f} s.")
    except Exception:  # a plugin of a stranger: it must not hide the models of others
        log.exception("connector cannot tell its models", connector=name)
        return Listing(name, problem="The connector failed. The cause is in the service's log.")
