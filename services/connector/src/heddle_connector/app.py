"""Puts the connector service together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_runtime.server import Binding, bind
from heddle_runtime.settings import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_connector.catalog import Catalog
from heddle_connector.http import http_client
from heddle_connector.registry import installed, opened
from heddle_connector.servicer import ConnectorServicer


class ConnectorSettings(ServiceSettings):
    """Settings of the connector service. Each connector has some of its own besides."""

    # An empty folder name would be the working directory, and a plugin is code.
    model_config = SettingsConfigDict(env_prefix="HEDDLE_CONNECTOR_", env_ignore_empty=True)

    address: str = Field(
        default="127.0.0.1:9103",
        description="Where the server listens: host:port, or unix:/path.",
    )
    plugins_dir: Path | None = Field(
        default=None, description="A folder with connectors, one Python file each."
    )
    connect_timeout: float = Field(
        default=5.0, gt=0, description="Seconds to reach a provider, its name's lookup included."
    )


@asynccontextmanager
async def app(settings: ConnectorSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the connector service serves."""
    plugins = installed(settings.plugins_dir)
    async with http_client(settings.connect_timeout) as http, opened(plugins, http) as registry:
        servicer = ConnectorServicer(registry, Catalog(registry))
        contract = pb.DESCRIPTOR.services_by_name["ConnectorService"]
        yield [bind(contract, pb_grpc.add_ConnectorServiceServicer_to_server, servicer)]
