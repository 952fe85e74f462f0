"""Services that an installation may lack, which packages name in `heddle.services`."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

import grpc

from heddle_runtime.serving.installed import installed, points
from heddle_runtime.serving.server import App
from heddle_runtime.settings.service import ServiceSettings

_GROUP = "heddle.services"


@dataclass(frozen=True, slots=True)
class OptionalService:
    """A service of an optional package."""

    settings_class: type[ServiceSettings]
    open: Callable[[Any, grpc.aio.Channel, grpc.aio.Channel], App]
    """Opens the service with settings of its class and channels to assistants and knowledge."""


def optional_services() -> dict[str, OptionalService]:
    """Return the services of the installed packages by name."""
    return dict(installed(_GROUP))


def optional_service_names() -> AbstractSet[str]:
    """Return the names of the services of the installed packages, without loading these."""
    return {point.name for _, point in points(_GROUP)}
