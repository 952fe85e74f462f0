"""Finds the prices of an organisation: its own before those of the operator's file."""

from collections.abc import Mapping

import structlog
from heddle.usage.v1 import usage_pb2 as pb
from heddle_runtime.rpc.ttl_cache import TTLCache
from heddle_runtime.storage.database.engine import Database

from heddle_assistants.accounts.access import no_organization
from heddle_assistants.accounts.model_prices import Prices, usable_prices
from heddle_assistants.accounts.organizations import Organization, organization_reader
from heddle_assistants.accounts.resolution import only_prices, prices
from heddle_assistants.accounts.secret_members import opened
from heddle_assistants.database.encryption import Keys, UnreadableSecretError

log = structlog.get_logger(__name__)
REMEMBERED = 5.0
"""The number of seconds for which prices are cached."""


class PriceLookup:
    """Finds the prices of organisations."""

    def __init__(self, database: Database, keys: Keys, file: Prices) -> None:
        self._keys = keys
        self._file = file
        self._organization = organization_reader(database)
        self._known: TTLCache[str, Prices] = TTLCache(REMEMBERED)

    async def of(self, slug: str) -> Prices:
        """Return the prices for an organisation's assistants."""
        return await self._known.get(slug, lambda: self._prices(slug))

    async def listed(self, slug: str) -> pb.ListPricesResponse:
        """Return the prices for an organisation's assistants, ordered by name.

        Raises:
            NotFoundError: There is no such organisation.
        """
        organization = await self._organization(slug)
        if organization is None:
            raise no_organization(slug)
        own = self._own(organization)
        listed = [
            pb.NamedPrice(name=name, price=price, own=name in own)
            for name, price in sorted({**self._file, **own}.items())
        ]
        return pb.ListPricesResponse(prices=listed, etag=organization.etag)

    async def _prices(self, slug: str) -> Prices:
        organization = await self._organization(slug)
        return {**self._file, **(self._own(organization) if organization else {})}

    def _own(self, organization: Organization) -> Prices:
        slug = organization.slug
        try:
            # The name of a model may look like that of a secret, and its prices are sealed then.
            configured = prices(opened(only_prices(organization.settings), self._keys, slug))
        except UnreadableSecretError as error:
            log.error("prices are sealed with another key", organization=slug, cause=str(error))  # noqa: TRY400 - the key is at fault, a traceback says nothing
            return {}
        usable = dict(usable_prices(configured))
        wrong = set(configured) - usable.keys() if isinstance(configured, Mapping) else {"prices"}
        if wrong:  # none that `PutOrganization` took
            log.warning("prices are wrong", organization=slug, names=sorted(map(str, wrong)))
        return usable
