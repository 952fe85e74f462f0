"""Which models there are, asked of all providers at once and remembered for a while."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

import structlog
from heddle_runtime.errors import HeddleError

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


@dataclass(frozen=True, slots=True)
class Offer:
    """A connector that a caller may use, or why he may not."""

    connector: Connector[Any] | None
    only: frozenset[str] = frozenset()
    """The models that he may use. If empty, all."""
    problem: str = ""


class Catalog:
    """Asks the connectors for their models."""

    def __init__(self) -> None:
        # Each organisation's connectors are its own, and so are their models.
        self._known: WeakKeyDictionary[Connector[Any], tuple[float, Listing]]
        self._known = WeakKeyDictionary()

    async def listings(self, offers: Mapping[str, Offer], seconds: float) -> Sequence[Listing]:
        """Return the listings of connectors.

        Args:
            offers: What the caller may use, by the connectors' names.
            seconds: The time of the call; a provider gets three seconds of it at most.
        """
        patience = min(PATIENCE, seconds)
        return await asyncio.gather(
            *(self._offered(name, offer, patience) for name, offer in offers.items())
        )

    async def _offered(self, name: str, offer: Offer, patience: float) -> Listing:
        if offer.connector is None:
            return Listing(name, problem=offer.problem)
        listing = await self._listing(name, offer.connector, patience)
        if not offer.only:
            return listing
        return replace(listing, models=[m for m in listing.models if m.name in offer.only])

    async def _listing(self, name: str, connector: Connector[Any], patience: float) -> Listing:
        end, known = self._known.get(connector, (0.0, None))
        if known is not None and time.monotonic() < end:
            return known
        listing = await _ask(name, connector, patience)
        fresh = _FRESH_PROBLEM if listing.problem else _FRESH
        self._known[connector] = (time.monotonic() + fresh, listing)
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
