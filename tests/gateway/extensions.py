"""Settings of LAMB among those of a gateway of the tests."""

from dataclasses import replace
from typing import Any

from heddle_gateway.extensions import Extension
from optional_member import IS_INSTALLED

_PREFIX = "lamb_"


def without_lamb(settings: dict[str, Any]) -> tuple[dict[str, Any], list[Extension]]:
    """Return the settings of the gateway, and its extension with those that begin with `lamb_`."""
    of_lamb = {
        name.removeprefix(_PREFIX): value
        for name, value in settings.items()
        if name.startswith(_PREFIX)
    }
    own = {name: value for name, value in settings.items() if not name.startswith(_PREFIX)}
    if not IS_INSTALLED:
        return own, []
    from heddle_migration_service.gateway_extension import EXTENSION  # noqa: PLC0415 - optional
    from heddle_migration_service.proxy.settings import LambSettings  # noqa: PLC0415 - optional

    return own, [replace(EXTENSION, settings=LambSettings.model_validate(of_lamb))]
