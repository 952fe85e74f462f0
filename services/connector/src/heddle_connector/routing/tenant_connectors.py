"""Tenant connectors: each organisation's own providers, with its keys, addresses and models."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from heddle.account.v1.account_pb2 import Provider, ResolveSettingsResponse
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.contract.default_model import DEFAULT_CONNECTOR
from heddle_runtime.errors import NotFoundError, NotSetUpError, UnavailableError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from heddle_runtime.rpc.organization_settings import OrganizationSettings

from heddle_connector.generation.call import Call
from heddle_connector.http import HttpClient
from heddle_connector.routing.model_selection import allows, select_model
from heddle_connector.routing.registry import Registry
from heddle_connector.routing.settings_check import Candidate, requested_provider
from heddle_connector.sdk import Connector
from heddle_connector.sdk.organization import organization_settings

log = structlog.get_logger(__name__)
MAX_TENANT_CONNECTORS = 512


class TenantConnectors:
    """Finds the connector that answers for an assistant.

    The environment of the service belongs to its operator. Another organisation reaches a provider
    with its own settings only, unless the operator shares the provider.
    """

    def __init__(
        self,
        registry: Registry,
        http: HttpClient,
        restricted_http: HttpClient,
        settings: OrganizationSettings,
        *,
        shared: bool,
    ) -> None:
        """Store the parts with which connectors are created.

        Args:
            registry: The installed connectors.
            http: The client for the operator's own organisation.
            restricted_http: The client for all other organisations. It connects only to addresses
                that the egress policy allows.
            settings: The organisations' settings.
            shared: Whether organisations without a provider use the operator's.
        """
        self.registry = registry
        """The installed connectors."""
        self._http = http
        self._restricted_http = restricted_http
        self.settings = settings
        """The settings of organisations."""
        self._shared = shared
        self.plugins = {
            name: plugin
            for name, plugin in registry.plugins.loaded.items()
            if not plugin.for_all_organizations
        }
        """The connectors whose settings belong to an organisation."""
        self.supplied = {name for name, each in self.plugins.items() if each.organization_settings}
        """The connectors that organisations can use with settings of their own."""
        self.undeclared = self.plugins.keys() - self.supplied
        """The connectors that only the operator's organisation can use."""
        self._connectors: OrderedDict[tuple[str, bool, bytes], Connector[Any]] = OrderedDict()

    @property
    def in_use(self) -> bool:
        """Whether organisations have used providers of their own since the start."""
        return bool(self._connectors)

    async def connector(self, call: Call) -> Connector[Any]:
        """Return the connector that answers `call`. This may replace the model of the call.

        Raises:
            NotFoundError: No connector has that name.
            NotSetUpError: The connector is not available to organisations.
            UnavailableError: The assistant's organisation has not set up the provider.
        """
        if call.connector == DEFAULT_CONNECTOR and (
            model := self.default_model(await self._settings_of(call))
        ):
            call.use(*model)
        operator_connector = self.registry.get(call.connector)
        if call.connector not in self.plugins:
            return operator_connector
        settings = await self._settings_of(call)
        if self.uses_operator_settings(settings, call.connector):
            return operator_connector
        if call.connector not in self.supplied:
            raise not_available(call.connector)
        selected = select_model(
            self.providers(settings), settings.default_model, call.connector, call.model
        )
        if selected is None:
            raise not_set_up(call.connector)
        if selected != (call.connector, call.model):
            log.warning("model not available", requested=call.model, replacement="/".join(selected))
            call.replace(*selected)
        return self.create(call.connector, settings.providers[call.connector], settings)

    async def default(self, call: Call) -> tuple[str, str, Connector[Any]] | None:
        """Return the default model of the assistant's organisation, and its connector.

        None if there is no default model, if the assistant may not use it, or if it is the model
        that answers `call` now.

        Raises:
            HeddleError: The organisation's settings are not available, or not valid.
        """
        settings = await self._settings_of(call)
        name, _, model = settings.default_model.partition("/")
        if not model or (name, model) == (call.connector, call.model):
            return None
        if name not in self.plugins or self.uses_operator_settings(settings, name):
            connector = self.registry.connectors.get(name)
            return None if connector is None else (name, model, connector)
        provider = self.providers(settings).get(name)
        if provider is None or not allows(provider, model):
            return None
        return name, model, self.create(name, provider, settings)

    def default_model(self, settings: ResolveSettingsResponse) -> tuple[str, str] | None:
        """Return the model that answers for an organisation's default model.

        It is the model that the organisation has chosen, otherwise the first one that it has set
        up, otherwise the first one of the environment; None if no model is connected. No provider
        is asked, so the model may not answer.
        """
        name, _, model = settings.default_model.partition("/")
        providers = self.providers(settings)
        if model and name != DEFAULT_CONNECTOR and name in self.registry.connectors:
            free = name not in self.plugins or self.uses_operator_settings(settings, name)
            if free or allows(providers.get(name), model):
                return name, model
        for name in sorted(self.plugins, key=lambda each: (each not in providers, each)):
            if not self.plugins[name].generates_images and (
                models := self._known_models(name, settings)
            ):
                return name, models[0]
        return None

    async def candidate(self, request: pb.CheckProviderRequest) -> Candidate:
        """Return a connector with the settings of a request; without any, with those that apply.

        Raises:
            InvalidRequestError: The address is none, or the stored key belongs to another server.
            NotFoundError: There is no such organisation or connector.
            NotSetUpError: The connector is not available to organisations.
        """
        name, slug = request.connector, request.organization
        settings = await self.settings.current(slug)
        if not settings.organization:
            raise no_organization(slug)
        operator_connector = self.registry.get(name)
        http = self._http if settings.system else self._restricted_http
        if name not in self.supplied and not settings.system:
            raise not_available(name)
        stored = self.providers(settings).get(name)
        if not (request.base_url or request.api_key or stored) or name not in self.supplied:
            if not self.uses_operator_settings(settings, name):
                raise not_set_up(name)
            return Candidate(operator_connector, self._http, is_changeable=False)
        provider = requested_provider(request, stored or Provider())
        plugin = self.plugins[name]
        return Candidate(plugin.open(organization_settings(plugin, provider), http), http)

    async def close(self) -> None:
        """Close the connectors that were created here."""
        for (name, *_), connector in self._connectors.items():
            try:
                await connector.close()
            except Exception:  # third-party code, which must not keep other connectors open
                log.exception("connector does not close", connector=name)

    async def _settings_of(self, call: Call) -> ResolveSettingsResponse:
        """Return the settings that apply to a call: the assistant's, else the caller's."""
        if (assistant := call.assistant) is None:
            return await self.settings.of(home(caller().identity), "")
        return await self.settings.of(assistant.organization, assistant.owner)

    def _known_models(self, name: str, settings: ResolveSettingsResponse) -> Sequence[str]:
        """Return the models of a provider that settings name, the default model first."""
        if (provider := self.providers(settings).get(name)) is not None:
            models = [provider.default_model, *provider.models]
            return [each for each in models if each and allows(provider, each)]
        connector = self.registry.connectors.get(name)
        if connector is None or not self.uses_operator_settings(settings, name):
            return ()
        return connector.only_models or getattr(connector.settings, "models", ())

    def providers(self, settings: ResolveSettingsResponse) -> Mapping[str, Provider]:
        """Return an organisation's providers for which a connector is installed."""
        return {name: p for name, p in settings.providers.items() if name in self.supplied}

    def uses_operator_settings(self, settings: ResolveSettingsResponse, name: str) -> bool:
        """Return whether an organisation uses a connector with the operator's settings."""
        if name not in self.supplied:
            return settings.system
        return name not in settings.providers and (settings.system or self._shared)

    def create(
        self, name: str, provider: Provider, settings: ResolveSettingsResponse
    ) -> Connector[Any]:
        """Return the connector with an organisation's settings, created on first use."""
        key = name, settings.system, provider.SerializeToString(deterministic=True)
        connector = self._connectors.get(key)
        if connector is None:
            plugin = self.plugins[name]
            http = self._http if settings.system else self._restricted_http
            connector = plugin.open(organization_settings(plugin, provider), http)
            self._connectors[key] = connector
            if len(self._connectors) > MAX_TENANT_CONNECTORS:
                # Not closed: it may still be answering. Nothing else holds a reference to it.
                self._connectors.popitem(last=False)
        self._connectors.move_to_end(key)
        return connector


def no_organization(slug: str) -> NotFoundError:
    """Return the error about an organisation that is missing, or must seem so."""
    return NotFoundError(f"No organisation is named {slug[:200]!r}.", organization=slug[:200])


def not_set_up(connector: str) -> UnavailableError:
    """Return the error about a provider that an organisation has not set up."""
    return UnavailableError(
        f"Your organisation has not set up the provider {connector!r}. Ask its administrator.",
        diagnosis=f"Set providers.{connector} in the organisation's settings, or share the "
        "operator's providers with HEDDLE_CONNECTOR_SHARE_PROVIDERS.",
    )


def not_available(connector: str) -> NotSetUpError:
    """Return the error about a connector that only the operator's organisation can use."""
    return NotSetUpError(
        f"The connector {connector!r} is not available to organisations. Choose a model of another "
        "connector, or ask the operator.",
        connector=connector,
        diagnosis="The connector does not declare which settings an organisation supplies. Its "
        "author marks them with FromOrganization, or declares it for_all_organizations.",
    )
