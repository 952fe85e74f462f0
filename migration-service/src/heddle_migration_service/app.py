"""The assembly of the migration service."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import grpc
from heddle.assistant.v1 import (
    following_pb2,
    following_pb2_grpc,
    jobs_pb2,
    jobs_pb2_grpc,
    rows_pb2,
    rows_pb2_grpc,
)
from heddle.migration.v1 import (
    migration_pb2_grpc,
    record_pb2_grpc,
)
from heddle_runtime import addresses
from heddle_runtime.background import in_background
from heddle_runtime.client import channel
from heddle_runtime.readiness import Check
from heddle_runtime.server import Binding, bind
from heddle_runtime.service_credentials import ServiceCredentials
from heddle_runtime.settings import ServiceSettings
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_migration_service.batch_jobs.servicer import MigrationServicer
from heddle_migration_service.following import Follower
from heddle_migration_service.jobs import JobRunner
from heddle_migration_service.lamb import LambImport
from heddle_migration_service.records.servicer import RecordServicer
from heddle_migration_service.row_batches import RowBatches


class MigrationSettings(ServiceSettings):
    """Settings of the migration service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_MIGRATION_")

    listen: str = Field(
        default=addresses.MIGRATION,
        description="Where the server listens: host:port, or unix:/path.",
    )
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    lamb_database: Path | None = Field(
        default=None,
        description="A LAMB database, live or a copy, that `heddle import-lamb` reads and never "
        "changes: the lamb_v4.db in LAMB's LAMB_DB_PATH.",
    )
    followed_database: Path | None = Field(
        default=None,
        validation_alias="HEDDLE_LAMB_DATABASE",
        description="The database of a running LAMB, which Heddle follows: what changes there "
        "changes here. It is only read. Without HEDDLE_MIGRATION_LAMB_DATABASE, "
        "`heddle import-lamb` reads it, too.",
    )
    lamb_prefix: str | None = Field(
        default=None,
        description="What the names of LAMB's tables begin with, its LAMB_DB_PREFIX. Not needed "
        "if there is only one set of tables.",
    )


@asynccontextmanager
async def connect(settings: MigrationSettings) -> AsyncGenerator[grpc.aio.Channel]:
    """Yield a channel to the assistants service at the address of `settings`."""
    services = [
        service
        for contract in (rows_pb2, jobs_pb2, following_pb2)
        for service in contract.DESCRIPTOR.services_by_name.values()
    ]
    async with channel(
        settings.assistants_address, *services, secret=settings.identity_secret, tls=settings.tls
    ) as assistants:
        yield assistants


@asynccontextmanager
async def app(
    settings: MigrationSettings, assistants: grpc.aio.Channel
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the service serves, with `assistants` as the way to the assistants service."""
    credentials = ServiceCredentials("migration")
    rows = rows_pb2_grpc.RowServiceStub(assistants)
    batches = RowBatches(rows_pb2_grpc.RowBatchServiceStub(assistants), credentials)
    importer = None
    if lamb_database := settings.lamb_database or settings.followed_database:
        importer = LambImport(lamb_database, settings.lamb_prefix, batches)
    runner = JobRunner(jobs_pb2_grpc.JobServiceStub(assistants), credentials, batches, importer)
    async with AsyncExitStack() as exits:
        await exits.enter_async_context(in_background(runner.run()))
        checks: dict[str, Check] = {}
        if settings.followed_database is not None:
            stub = following_pb2_grpc.FollowingServiceStub(assistants)
            follower = Follower(
                settings.followed_database, settings.lamb_prefix, stub, credentials, batches
            )
            await exits.enter_async_context(in_background(follower.run()))
            checks["lamb"] = follower.check
        yield [
            bind(record_pb2_grpc.add_RecordServiceServicer_to_server, RecordServicer(rows)),
            bind(
                migration_pb2_grpc.add_MigrationServiceServicer_to_server,
                MigrationServicer(rows, batches, importer, runner),
                checks,
            ),
        ]
