"""Which model answers, as far as an organisation's settings have a say. Pure."""

from collections.abc import Mapping

from heddle.account.v1.account_pb2 import Provider


def chosen(
    providers: Mapping[str, Provider], default: str, connector: str, model: str
) -> tuple[str, str] | None:
    """Return the connector and the model that answer; None if no provider is set up for them.

    The model that was asked for, if its provider is set up and offers it. Else the organisation's
    default, else the provider's default, else the provider's first.

    Args:
        providers: What the organisation has set up.
        default: Its default model, as `connector/model`; or nothing.
        connector: Of the model that was asked for.
        model: That model.
    """
    provider = providers.get(connector)
    if offers(provider, model):
        return connector, model
    other, _, name = default.partition("/")
    if offers(providers.get(other), name):
        return other, name
    if provider is None or not provider.enabled:
        return None
    own = provider.default_model
    return connector, own if own in provider.models else provider.models[0]


def offers(provider: Provider | None, model: str) -> bool:
    """Say whether an organisation has set a provider up and lets it use a model."""
    if provider is None or not provider.enabled:
        return False
    return not provider.models or model in provider.models
