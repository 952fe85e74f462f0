"""Puts the service that owns the assistants together."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.migration.v1 import (
    migration_pb2,
    migration_pb2_grpc,
    record_pb2,
    record_pb2_grpc,
)
from heddle.rubric.v1 import rubric_pb2, rubric_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_runtime import addresses
from heddle_runtime.egress import Egress
from heddle_runtime.server import Binding, bind
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_migration_service.accounts.opening import (
    AccountSettings,
    account_service,
    encryption_keys,
)
from heddle_migration_service.accounts.secret_members import sealed
from heddle_migration_service.assistants.catalog import Catalog
from heddle_migration_service.assistants.exporting import Exporter
from heddle_migration_service.assistants.servicer import AssistantServicer
from heddle_migration_service.database.engine import Database, open_database
from heddle_migration_service.database.upgrading import upgrade
from heddle_migration_service.folder import FolderAssistants
from heddle_migration_service.kept.migrating import Migrations
from heddle_migration_service.kept.reader import Reader
from heddle_migration_service.kept.rows import Rows
from heddle_migration_service.kept.writer import Writer
from heddle_migration_service.lamb import LambImport
from heddle_migration_service.records.servicer import RecordServicer
from heddle_migration_service.rubrics.servicer import RubricServicer
from heddle_migration_service.rubrics.store import Rubrics
from heddle_migration_service.sweeps.servicer import MigrationServicer
from heddle_migration_service.usage.budgets import Budgets
from heddle_migration_service.usage.price_file import prices_of_file
from heddle_migration_service.usage.recording import Recording
from heddle_migration_service.usage.reports import Reports
from heddle_migration_service.usage.servicer import UsageServicer
from heddle_migration_service.usage.tariffs import Tariffs


class MigrationSettings(AccountSettings):
    """Settings of the service that owns the assistants."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_MIGRATION_")

    listen: str = Field(
        default=addresses.ASSISTANTS,
        description="Where the server listens: host:port, or unix:/path.",
    )
    database: str = Field(
        default="sqlite:///.heddle/heddle.db",
        repr=False,
        description="Where assistants, organisations and keys are kept: sqlite:///PATH, a file on "
        "a local disk, or postgresql://USER:PASSWORD@HOST:PORT/NAME.",
    )
    assistants_dir: Path = Field(
        default=Path("assistants"),
        description="Folder of more assistants, one YAML or JSON file each, which nobody can "
        "change by a call. Read again when a file changes.",
    )
    migrate: bool = Field(
        default=True,
        description="Bring an assistant of LAMB's format into the newest one when it is first "
        "used. Without, reads write nothing, and such an assistant answers as its old columns say.",
    )
    lamb_database: Path | None = Field(
        default=None,
        description="A LAMB database, live or a copy, that `heddle import-lamb` reads and never "
        "changes: the lamb_v4.db in LAMB's LAMB_DB_PATH.",
    )
    lamb_prefix: str | None = Field(
        default=None,
        description="What the names of LAMB's tables begin with, its LAMB_DB_PREFIX. Found out if "
        "there is only one set of tables.",
    )
    prices: Path | None = Field(
        default=None,
        description="A JSON file with what models cost, in US dollars for a million tokens: "
        '{"openai/gpt-x": {"input": 2.5, "cached_input": 1.25, "output": 10}}. A name that ends '
        "in * stands for all that begin so. An organisation's own prices, setups.default.prices "
        "of its settings, come first. Without a price nothing is spent.",
    )


@asynccontextmanager
async def app(settings: MigrationSettings) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the service serves."""
    prices = prices_of_file(settings.prices)
    async with open_database(settings.database) as database:
        await upgrade(database)
        rows, writer = Rows(database), Writer(database)
        reader = Reader(rows, Migrations(database, enabled=settings.migrate))
        catalog = Catalog(FolderAssistants(settings.assistants_dir), rows, reader)
        tariffs = Tariffs(database, encryption_keys(settings.database, settings), prices)
        exporter, budgets = Exporter(catalog, rows, reader), Budgets(database, tariffs)
        assistants = AssistantServicer(catalog, writer, exporter, budgets)
        recording = Recording(database, catalog, tariffs)
        yield [
            bind(
                assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
                assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
                assistants,
            ),
            bind(
                record_pb2.DESCRIPTOR.services_by_name["RecordService"],
                record_pb2_grpc.add_RecordServiceServicer_to_server,
                RecordServicer(catalog, rows, reader, writer),
            ),
            bind(
                migration_pb2.DESCRIPTOR.services_by_name["MigrationService"],
                migration_pb2_grpc.add_MigrationServiceServicer_to_server,
                MigrationServicer(
                    database, rows, _lamb_import(settings, database), enabled=settings.migrate
                ),
            ),
            bind(
                rubric_pb2.DESCRIPTOR.services_by_name["RubricService"],
                rubric_pb2_grpc.add_RubricServiceServicer_to_server,
                RubricServicer(Rubrics(database)),
            ),
            bind(
                usage_pb2.DESCRIPTOR.services_by_name["UsageService"],
                usage_pb2_grpc.add_UsageServiceServicer_to_server,
                UsageServicer(recording, Reports(database, catalog, rows, tariffs)),
            ),
            await account_service(database, settings.database, settings),
        ]


def _lamb_import(settings: MigrationSettings, database: Database) -> LambImport | None:
    if settings.lamb_database is None:
        return None
    keys = encryption_keys(settings.database, settings)
    return LambImport(
        settings.lamb_database,
        settings.lamb_prefix,
        database,
        lambda slug, config: sealed(config, keys, slug),
        Egress(settings.private_networks),
    )
