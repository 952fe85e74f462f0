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
from heddle_connector.routing.model_catalogue import Access
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
        self._registry = registry
        self._http = http
        self._restricted_http = restricted_http
        self.settings = settings
        self._shared = shared
        self._plugins = {
            name: plugin
            for name, plugin in registry.plugins.loaded.items()
            if not plugin.for_all_organizations
        }
        self._supplied = {
            name for name, each in self._plugins.items() if each.organization_settings
        }
        """The connectors that organisations can use with settings of their own."""
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
        operator_connector = self._registry.get(call.connector)
        if call.connector not in self._plugins:
            return operator_connector
        settings = await self._settings_of(call)
        if self._uses_operator_settings(settings, call.connector):
            return operator_connector
        if call.connector not in self._supplied:
            raise _not_available(call.connector)
        selected = select_model(
            self._providers(settings), settings.default_model, call.connector, call.model
        )
        if selected is None:
            raise _not_set_up(call.connector)
        if selected != (call.connector, call.model):
            log.warning("model not available", requested=call.model, replacement="/".join(selected))
            call.replace(*selected)
        return self._create(call.connector, settings.providers[call.connector], settings)

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
        if name not in self._plugins or self._uses_operator_settings(settings, name):
            connector = self._registry.connectors.get(name)
            return None if connector is None else (name, model, connector)
        provider = self._providers(settings).get(name)
        if provider is None or not _allows(provider, model):
            return None
        return name, model, self._create(name, provider, settings)

    async def default_of(self, organization: str) -> tuple[str, str] | None:
        """Return the model of `default_model` for an organisation."""
        return self.default_model(await self.settings.of(organization, ""))

    def default_model(self, settings: ResolveSettingsResponse) -> tuple[str, str] | None:
        """Return the model that answers for an organisation's default model.

        It is the model that the organisation has chosen, otherwise the first one that it has set
        up; None if no model is connected. No provider is asked, so the model may not answer.
        """
        name, _, model = settings.default_model.partition("/")
        providers = self._providers(settings)
        if model and name != DEFAULT_CONNECTOR and name in self._registry.connectors:
            free = name not in self._plugins or self._uses_operator_settings(settings, name)
            if free or _allows(providers.get(name), model):
                return name, model
        for name in sorted(providers):
            own = [providers[name].default_model, *providers[name].models]
            model = next((each for each in own if each and _allows(providers[name], each)), "")
            if model and not self._plugins[name].generates_images:
                return name, model
        return None

    async def available(self, organization: str) -> Mapping[str, Sequence[str]]:
        """Return the connectors that an organisation can use or set up, and their only models.

        A connector that may have other models has none here.
        """
        models = {name: each.only_models for name, each in self._registry.connectors.items()}
        if not self._plugins.keys() & models.keys():
            return models
        settings = await self.settings.of(organization, "")
        providers = self._providers(settings)
        models |= {name: list(providers[name].models) for name in providers.keys() & models.keys()}
        undeclared = set() if settings.system else self._plugins.keys() - self._supplied
        return {name: each for name, each in models.items() if name not in undeclared}

    async def settings_source(self, organization: str, name: str) -> "pb.SettingsSource.ValueType":
        """Return where the settings come from with which an organisation uses a connector."""
        settings = await self.settings.of(organization, "")
        if name in self._providers(settings):
            return pb.SETTINGS_SOURCE_ORGANIZATION
        is_set = name in self._plugins and self._registry.get(name).settings.model_fields_set
        if is_set and self._uses_operator_settings(settings, name):
            return pb.SETTINGS_SOURCE_ENVIRONMENT
        return pb.SETTINGS_SOURCE_UNSPECIFIED

    async def accessible(self, organization: str, connector: str) -> Mapping[str, Access]:
        """Return by name which connectors an organisation may use.

        Args:
            organization: The slug of an organisation.
            connector: The only connector to return. If empty, all are returned.

        Raises:
            NotFoundError: No connector has that name.
        """
        names = [connector] if connector else list(self._registry.connectors)
        accessible = {name: Access(self._registry.get(name)) for name in names}
        if not accessible.keys() & self._plugins.keys():
            return accessible
        settings = await self.settings.of(organization, "")
        for name in accessible.keys() & self._plugins.keys():
            if not self._uses_operator_settings(settings, name):
                accessible[name] = self._access(name, settings)
        return accessible

    async def candidate(self, request: pb.CheckProviderRequest) -> Candidate:
        """Return a connector with the settings of a request; without any, with those that apply.

        Raises:
            InvalidRequestError: The address is none, or the stored key belongs to another server.
            NotFoundError: There is no such organisation or connector.
            NotSetUpError: The connector is not available to organisations.
        """
        name, slug = request.connector, request.organization
        settings = await self.settings.of(slug, "")
        if not settings.organization:
            raise no_organization(slug)
        operator_connector = self._registry.get(name)
        http = self._http if settings.system else self._restricted_http
        if name not in self._supplied and not settings.system:
            raise _not_available(name)
        stored = self._providers(settings).get(name)
        if not (request.base_url or request.api_key or stored) or name not in self._supplied:
            if not self._uses_operator_settings(settings, name):
                raise _not_set_up(name)
            return Candidate(operator_connector, self._http, is_changeable=False)
        provider = requested_provider(request, stored or Provider())
        plugin = self._plugins[name]
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

    def _access(self, name: str, settings: ResolveSettingsResponse) -> Access:
        if name not in self._supplied:
            return Access(None, problem=_not_available(name).message)
        provider = self._providers(settings).get(name)
        if provider is None or not provider.enabled:
            return Access(None, problem=_not_set_up(name).message)
        try:
            return Access(self._create(name, provider, settings), frozenset(provider.models))
        except UnavailableError as error:
            return Access(None, problem=error.message)

    def _providers(self, settings: ResolveSettingsResponse) -> Mapping[str, Provider]:
        """Return an organisation's providers for which a connector is installed."""
        return {name: p for name, p in settings.providers.items() if name in self._supplied}

    def _uses_operator_settings(self, settings: ResolveSettingsResponse, name: str) -> bool:
        if name not in self._supplied:
            return settings.system
        return name not in settings.providers and (settings.system or self._shared)

    def _create(
        self, name: str, provider: Provider, settings: ResolveSettingsResponse
    ) -> Connector[Any]:
        """Return the connector with an organisation's settings, created on first use."""
        key = name, settings.system, provider.SerializeToString(deterministic=True)
        connector = self._connectors.get(key)
        if connector is None:
            plugin = self._plugins[name]
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


def _not_set_up(connector: str) -> UnavailableError:
    return UnavailableError(
        f"Your organisation has not set up the provider {connector!r}. Ask its administrator.",
        diagnosis=f"Set providers.{connector} in the organisation's settings, or share the "
        "operator's providers with HEDDLE_CONNECTOR_SHARE_PROVIDERS.",
    )


def _not_available(connector: str) -> NotSetUpError:
    return NotSetUpError(
        f"The connector {connector!r} is not available to organisations. Choose a model of another "
        "connector, or ask the operator.",
        connector=connector,
        diagnosis="The connector does not declare which settings an organisation supplies. Its "
        "author marks them with FromOrganization, or declares it for_all_organizations.",
    )


def select_model(
    providers: Mapping[str, Provider], default: str, connector: str, model: str
) -> tuple[str, str] | None:
    """Return the connector and the model that answer; None if no provider is set up for them.

    The order of preference is: the requested model if its provider is set up and allows it, the
    organisation's default model, the provider's default model, the provider's first model.

    Args:
        providers: The providers that the organisation has set up.
        default: The organisation's default model as `connector/model`, or an empty string.
        connector: The connector of the requested model.
        model: The requested model.
    """
    provider = providers.get(connector)
    if _allows(provider, model):
        return connector, model
    default_connector, _, default_model = default.partition("/")
    if _allows(providers.get(default_connector), default_model):
        return default_connector, default_model
    if provider is None or not provider.enabled:
        return None
    fallback = provider.default_model
    return connector, fallback if fallback in provider.models else provider.models[0]


def _allows(provider: Provider | None, model: str) -> bool:
    """Return whether an organisation has set up a provider and allows a model of it."""
    if provider is None or not provider.enabled:
        return False
    return not provider.models or model in provider.models
