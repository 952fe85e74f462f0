"""The connectors and models that an organisation can use or set up."""

from collections.abc import Mapping

from heddle.account.v1.account_pb2 import Provider, ResolveSettingsResponse
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.contract.default_model import DEFAULT_CONNECTOR
from heddle_runtime.errors import UnavailableError

from heddle_connector.routing.model_catalogue import Access
from heddle_connector.routing.tenant_connectors import (
    TenantConnectors,
    not_available,
    not_set_up,
)


class Offers:
    """Describes the connectors to an organisation."""

    def __init__(self, tenants: TenantConnectors) -> None:
        self._tenants = tenants
        self._registry = tenants.registry

    async def connectors(self, organization: str) -> list[pb.Connector]:
        """Return the connectors that an organisation can use or set up."""
        settings = await self._tenants.settings.of(organization, "")
        providers = self._tenants.providers(settings)
        replaced = self._has_chosen_model(settings)
        return [
            self._connector(name, settings, providers.get(name), replaced=replaced)
            for name in self._registry.connectors
            if settings.system or name not in self._tenants.undeclared
        ]

    async def accessible(self, organization: str, connector: str) -> Mapping[str, Access]:
        """Return by name which connectors an organisation may use; with `connector`, only that.

        Raises:
            NotFoundError: No connector has that name.
        """
        if connector:
            self._registry.get(connector)
        settings = await self._tenants.settings.of(organization, "")
        names = [connector] if connector else self._registry.connectors
        return {name: self._access(name, settings) for name in names}

    def _connector(
        self,
        name: str,
        settings: ResolveSettingsResponse,
        provider: Provider | None,
        *,
        replaced: bool,
    ) -> pb.Connector:
        plugin, connector = self._registry.plugins.loaded[name], self._registry.get(name)
        source = pb.SETTINGS_SOURCE_UNSPECIFIED
        if provider is not None:
            source = pb.SETTINGS_SOURCE_ORGANIZATION
        elif (
            name in self._tenants.plugins
            and connector.settings.model_fields_set
            and self._tenants.uses_operator_settings(settings, name)
        ):
            source = pb.SETTINGS_SOURCE_ENVIRONMENT
        return pb.Connector(
            name=name,
            description=plugin.description,
            origin=self._registry.plugins.origins[name],
            models=connector.only_models if provider is None else provider.models,
            calls_functions=plugin.calls_functions,
            streams=plugin.streams,
            generates_images=plugin.generates_images,
            debugging=not plugin.uses_model and name != DEFAULT_CONNECTOR,
            settings=sorted(plugin.organization_settings.values()),
            settings_source=source,
            usable=self._is_set_up(name, settings) or (replaced and name in self._tenants.plugins),
        )

    def _has_chosen_model(self, settings: ResolveSettingsResponse) -> bool:
        """Return whether an organisation has chosen a default model that can answer."""
        model = self._tenants.default_model(settings)
        if model is None or "/".join(model) != settings.default_model:
            return False
        return self._is_set_up(model[0], settings)

    def _is_set_up(self, name: str, settings: ResolveSettingsResponse) -> bool:
        connector = self._access(name, settings).connector
        return connector is not None and connector.is_set_up

    def _access(self, name: str, settings: ResolveSettingsResponse) -> Access:
        """Return how an organisation reaches the models of a connector."""
        tenants = self._tenants
        if name not in tenants.plugins or tenants.uses_operator_settings(settings, name):
            return Access(self._registry.get(name))
        if name not in tenants.supplied:
            return Access(None, problem=not_available(name).message)
        provider = tenants.providers(settings).get(name)
        if provider is None or not provider.enabled:
            return Access(None, problem=not_set_up(name).message)
        try:
            connector = tenants.create(name, provider, settings)
        except UnavailableError as error:
            return Access(None, problem=error.message)
        return Access(connector, frozenset(provider.models))
