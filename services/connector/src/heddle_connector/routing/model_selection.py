"""Selects the model that answers when an organisation's settings have a say."""

from collections.abc import Mapping

from heddle.account.v1.account_pb2 import Provider


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
    if allows(provider, model):
        return connector, model
    default_connector, _, default_model = default.partition("/")
    if allows(providers.get(default_connector), default_model):
        return default_connector, default_model
    if provider is None or not provider.enabled:
        return None
    fallback = provider.default_model
    return connector, fallback if fallback in provider.models else provider.models[0]


def allows(provider: Provider | None, model: str) -> bool:
    """Return whether an organisation has set up a provider and allows a model of it."""
    if provider is None or not provider.enabled:
        return False
    return not provider.models or model in provider.models
