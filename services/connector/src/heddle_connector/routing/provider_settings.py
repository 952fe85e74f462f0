"""A connector's settings out of an organisation's, with nothing of the operator's in them."""

from functools import cache

from heddle.account.v1.account_pb2 import Provider
from heddle_runtime.errors import UnavailableError
from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from heddle_connector.sdk import Plugin

_OWN = ("base_url", "api_key")
"""Settings that make a connector one of the organisation's: whose server, whose money."""


def is_bound(plugin: Plugin) -> bool:
    """Say whether a connector reaches a provider that each organisation sets up for itself."""
    return any(field in plugin.settings.model_fields for field in _OWN)


def given_settings(plugin: Plugin, provider: Provider) -> BaseSettings:
    """Return the settings with which a connector reaches an organisation's provider.

    Raises:
        UnavailableError: The connector refuses them. The message repeats no value.
    """
    given = {
        "base_url": provider.base_url,
        "api_key": provider.api_key,
        "models": ",".join(provider.models),
    }
    known = plugin.settings.model_fields
    values = {name: value for name, value in given.items() if value and name in known}
    try:
        return _without_environment(plugin.settings).model_validate(values)
    except ValidationError as error:
        wrong = ", ".join(str(item["loc"][0]) for item in error.errors(include_input=False))
        raise UnavailableError(
            f"The organisation's settings of the provider {plugin.name!r} are wrong: {wrong}."
        ) from None


@cache
def _without_environment(kind: type[BaseSettings]) -> type[BaseSettings]:
    """Return settings that read nothing but what they are given.

    What an organisation leaves out would otherwise be the operator's: his key at its address.
    """

    class Given(kind):  # type: ignore[misc, valid-type] # which class is known at run time only
        @classmethod
        def settings_customise_sources(
            cls,
            _settings: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            **_: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (init_settings,)

    return Given
