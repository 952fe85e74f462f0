"""Builds a connector's settings from an organisation's, without any of the operator's."""

from functools import cache

from heddle.account.v1.account_pb2 import Provider
from heddle_runtime.errors import UnavailableError
from pydantic import ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource

from heddle_connector.sdk.definition import Plugin


def organization_settings(plugin: Plugin, provider: Provider) -> BaseSettings:
    """Return the settings with which a connector reaches an organisation's provider.

    Only the settings that the connector marks with `FromOrganization` have the organisation's
    values; all others have their default values.

    Raises:
        UnavailableError: The connector rejects the settings. The message contains no value.
    """
    supplied = {
        "base_url": provider.base_url,
        "api_key": provider.api_key,
        "models": ",".join(provider.models),
    }
    values = {
        name: value
        for name, source in plugin.organization_settings.items()
        if (value := supplied[source])
    }
    try:
        return _without_environment(plugin.settings).model_validate(values)
    except ValidationError as error:
        invalid = ", ".join(str(item["loc"][0]) for item in error.errors(include_input=False))
        raise UnavailableError(
            f"Your organisation's settings of the provider {plugin.name!r} are not valid. Ask its "
            "administrator.",
            diagnosis=f"not valid in providers.{plugin.name}: {invalid}",
        ) from None


@cache
def _without_environment(settings: type[BaseSettings]) -> type[BaseSettings]:
    """Return settings that read only the values passed to them.

    Reading the environment would send the operator's key to the organisation's address.
    """

    class ExplicitSettings(settings):  # type: ignore[misc, valid-type] # the class is known at run time only
        @classmethod
        def settings_customise_sources(
            cls,
            _settings: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            **_: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return (init_settings,)

    return ExplicitSettings
