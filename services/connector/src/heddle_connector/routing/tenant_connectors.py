"""Each organisation's own providers: its keys, its addresses, its models."""

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import structlog
from heddle.account.v1.account_pb2 import Provider, ResolveSettingsResponse
from heddle_runtime.errors import UnavailableError
from heddle_runtime.organization_settings import OrganizationSettings

from heddle_connector.generation.call import Call
from heddle_connector.http import HttpClient
from heddle_connector.routing.model_catalog import Offer
from heddle_connector.routing.model_selection import chosen, offers
from heddle_connector.routing.provider_settings import given_settings, is_bound
from heddle_connector.routing.registry import Registry
from heddle_connector.sdk import Connector

log = structlog.get_logger(__name__)
_MOST = 512


class Owners:
    """Finds the connector that may speak for an assistant.

    The environment of the service is its operator's. Another organisation reaches a provider with
    what its own settings say and with nothing of the operator's, unless he shares it.
    """

    def __init__(
        self,
        registry: Registry,
        http: HttpClient,
        guarded: HttpClient,
        settings: OrganizationSettings,
        *,
        shared: bool,
    ) -> None:
        """Take what connectors are made with.

        Args:
            registry: What is installed.
            http: For the operator's own organisation.
            guarded: For all others: it goes only to addresses that an organisation may name.
            settings: What organisations have set up.
            shared: Whether those without a provider use the operator's.
        """
        self._registry = registry
        self._http = http
        self._guarded = guarded
        self._settings = settings
        self._shared = shared
        self._bound = {name: p for name, p in registry.plugins.found.items() if is_bound(p)}
        self._made: OrderedDict[tuple[str, bool, bytes], Connector[Any]] = OrderedDict()

    async def connector(self, call: Call) -> Connector[Any]:
        """Return the connector that answers `call`, whose model may become another one.

        Raises:
            NotFoundError: No connector has that name.
            UnavailableError: The assistant's organisation has not set the provider up.
        """
        operators = self._registry.get(call.connector)
        assistant = call.assistant
        if assistant is None or call.connector not in self._bound:
            return operators
        settings = await self._settings.of(assistant.organization, assistant.owner)
        if self._is_operators(settings, call.connector):
            return operators
        found = chosen(self._own(settings), settings.default_model, call.connector, call.model)
        if found is None:
            raise _not_set_up(call.connector)
        if found != (call.connector, call.model):
            log.warning("model not available", wanted=call.model, instead="/".join(found))
            call.replace(*found)
        return self._of(call.connector, settings.providers[call.connector], settings)

    async def default(self, call: Call) -> tuple[str, str, Connector[Any]] | None:
        """Return the default model of an assistant's organisation, and the connector it is at.

        None if there is none that the assistant may use, or it is what answers `call` now.

        Raises:
            HeddleError: The organisation's settings cannot be had, or are of no use.
        """
        assistant = call.assistant
        if assistant is None:
            return None
        settings = await self._settings.of(assistant.organization, assistant.owner)
        name, _, model = settings.default_model.partition("/")
        if not model or (name, model) == (call.connector, call.model):
            return None
        if name not in self._bound or self._is_operators(settings, name):
            found = self._registry.connectors.get(name)
            return None if found is None else (name, model, found)
        provider = self._own(settings).get(name)
        if provider is None or not offers(provider, model):
            return None
        return name, model, self._of(name, provider, settings)

    async def offers(self, organization: str, connector: str) -> Mapping[str, Offer]:
        """Return by name what each connector offers an organisation.

        Args:
            organization: Whose. If empty, the operator's.
            connector: The only one to look at. If empty, all are.

        Raises:
            NotFoundError: No connector has that name.
        """
        names = [connector] if connector else list(self._registry.connectors)
        found = {name: Offer(self._registry.get(name)) for name in names}
        if not organization or not found.keys() & self._bound.keys():
            return found
        settings = await self._settings.of(organization, "")
        for name in found.keys() & self._bound.keys():
            if not self._is_operators(settings, name):
                found[name] = self._offer(name, settings)
        return found

    async def close(self) -> None:
        """Close what was made."""
        for (name, *_), connector in self._made.items():
            try:
                await connector.close()
            except Exception:  # a plugin of a stranger: it must not keep others from closing
                log.exception("connector does not stop", connector=name)

    def _offer(self, name: str, settings: ResolveSettingsResponse) -> Offer:
        provider = self._own(settings).get(name)
        if provider is None or not provider.enabled:
            return Offer(None, problem=_not_set_up(name).message)
        try:
            return Offer(self._of(name, provider, settings), frozenset(provider.models))
        except UnavailableError as error:
            return Offer(None, problem=error.message)

    def _own(self, settings: ResolveSettingsResponse) -> Mapping[str, Provider]:
        """Return what is set up of the connectors that there are."""
        return {name: p for name, p in settings.providers.items() if name in self._bound}

    def _is_operators(self, settings: ResolveSettingsResponse, name: str) -> bool:
        """Say whether an organisation uses a connector with the operator's settings."""
        return name not in settings.providers and (settings.system or self._shared)

    def _of(
        self, name: str, provider: Provider, settings: ResolveSettingsResponse
    ) -> Connector[Any]:
        """Return the connector with an organisation's own settings, made when it is first used."""
        key = name, settings.system, provider.SerializeToString(deterministic=True)
        made = self._made.get(key)
        if made is None:
            plugin = self._bound[name]
            http = self._http if settings.system else self._guarded
            made = plugin.make(given_settings(plugin, provider), http)
            self._made[key] = made
            if len(self._made) > _MOST:  # answers that it is giving go on; nothing else holds it
                self._made.popitem(last=False)
        self._made.move_to_end(key)
        return made


def _not_set_up(connector: str) -> UnavailableError:
    return UnavailableError(
        f"The organisation has not set up the provider {connector!r}. Its administrator can do so, "
        "or the operator can share his with HEDDLE_CONNECTOR_SHARE_PROVIDERS."
    )
