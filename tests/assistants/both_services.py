"""The assistants service, and the migration service if it is installed, on one port."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

import heddle_assistants.app
from heddle_assistants.app import AssistantsSettings
from heddle_assistants.other_services import OtherServices
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.serving.optional import optional_services
from heddle_runtime.serving.server import Binding

if TYPE_CHECKING:
    import grpc


@asynccontextmanager
async def both_services(
    settings: AssistantsSettings,
    lamb_database: Path | None = None,
    followed: Path | None = None,
    knowledge: "grpc.aio.Channel | None" = None,
    **of_migration: object,
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what both services serve; the one calls the other within the process."""
    secret = settings.identity_secret
    service = optional_services().get("migration")
    if service is None:
        async with heddle_assistants.app.app(settings, OtherServices()) as bindings:
            yield bindings
        return
    migration = service.settings_class.model_validate(
        {
            "HEDDLE_IDENTITY_SECRET": secret.get_secret_value() if secret else None,
            "lamb_database": lamb_database,
            "HEDDLE_LAMB_DATABASE": followed,
            **of_migration,
        }
    )
    within = InProcessChannel()
    async with heddle_assistants.app.app(settings, OtherServices()) as bindings:
        for binding in bindings:
            binding.register(within)
        to_assistants = cast("grpc.aio.Channel", within)
        opened = service.open(migration, to_assistants, knowledge or to_assistants)
        async with opened as more:
            yield [*bindings, *more]
