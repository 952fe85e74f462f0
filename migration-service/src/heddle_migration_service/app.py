"""Puts the service that owns the assistants together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.server import Binding, bind
from heddle_runtime.settings import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_migration_service.folder import FolderAssistants
from heddle_migration_service.servicer import AssistantServicer


class MigrationSettings(ServiceSettings):
    """Settings of the service that owns the assistants."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_MIGRATION_")

    address: str = Field(default="127.0.0.1:9104", description="Where the server listens.")
    assistants_dir: Path = Field(
        default=Path("assistants"),
        description="Folder of assistants, one YAML or JSON file each. Read again when a file "
        "changes.",
    )


@asynccontextmanager
async def app(settings: MigrationSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the service serves."""
    servicer = AssistantServicer(FolderAssistants(settings.assistants_dir))
    contract = assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"]
    register = assistant_pb2_grpc.add_AssistantServiceServicer_to_server
    yield [bind(contract, register, servicer)]
