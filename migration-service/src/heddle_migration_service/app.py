"""The assembly of the migration service."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import (
    following_pb2,
    following_pb2_grpc,
    jobs_pb2,
    jobs_pb2_grpc,
    prompts_pb2,
    prompts_pb2_grpc,
    questions_pb2,
    questions_pb2_grpc,
    rows_pb2,
    rows_pb2_grpc,
    sharing_pb2,
    sharing_pb2_grpc,
)
from heddle.conversation.v1 import conversation_pb2, conversation_pb2_grpc
from heddle.group.v1 import group_pb2, group_pb2_grpc
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.migration.v1 import (
    migration_pb2_grpc,
    record_pb2_grpc,
)
from heddle_runtime.errors.conditions import Check
from heddle_runtime.http.egress import Egress, EgressSettings, ServerAddress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.rpc.organization_settings import account_stub
from heddle_runtime.serving.background import in_background
from heddle_runtime.serving.optional import OptionalService
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.settings import addresses
from pydantic import Field, SecretStr
from pydantic_settings import SettingsConfigDict

from heddle_migration_service.batch_jobs.work import Work
from heddle_migration_service.following import Follower
from heddle_migration_service.jobs import JobRunner
from heddle_migration_service.knowledge.copying import KnowledgeCopy
from heddle_migration_service.knowledge.libraries import LibraryReader
from heddle_migration_service.knowledge.reading import LambReader
from heddle_migration_service.lamb import LambImport
from heddle_migration_service.lamb.assistant_shares import Sharing
from heddle_migration_service.lamb.contents import ContentImport
from heddle_migration_service.lamb.knowledge_registry import LambServer
from heddle_migration_service.lamb.lti_links import LinkImport
from heddle_migration_service.lti.courses import Courses
from heddle_migration_service.lti.stored_links import LtiTexts
from heddle_migration_service.records.servicer import RecordServicer
from heddle_migration_service.row_batches import RowBatches
from heddle_migration_service.servicer import MigrationServicer

_KB_SECONDS = 60.0
"""How long to wait for LAMB's knowledge-base server."""


class MigrationSettings(EgressSettings):
    """Settings of the migration service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_MIGRATION_")

    listen: addresses.Listen = addresses.MIGRATION
    assistants_address: addresses.AssistantsAddress = addresses.ASSISTANTS
    knowledge_address: addresses.KnowledgeAddress = addresses.KNOWLEDGE
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
    lamb_kb_url: ServerAddress = Field(
        default="",
        description="The address of LAMB's knowledge-base server, its LAMB_KB_SERVER, which "
        "`heddle import-lamb --knowledge` reads. Organisations of LAMB may name their own.",
    )
    lamb_library_url: ServerAddress = Field(
        default="",
        description="The address of LAMB's library server, its LAMB_LIBRARY_SERVER, whose "
        "libraries `heddle import-lamb --knowledge` copies. Organisations of LAMB may name their "
        "own.",
    )
    lamb_library_token: SecretStr = Field(
        default=SecretStr(""),
        description="The key of that server, LAMB's LAMB_LIBRARY_TOKEN. Sent to no other.",
    )
    lamb_kb_token: SecretStr = Field(
        default=SecretStr(""),
        description="The key of that server, LAMB's LAMB_KB_SERVER_TOKEN. Sent to no other.",
    )


@dataclass(frozen=True, slots=True)
class Peers:
    """The ways to other services."""

    assistants: grpc.aio.Channel
    knowledge: grpc.aio.Channel


@asynccontextmanager
async def connect(settings: MigrationSettings) -> AsyncGenerator[Peers]:
    """Yield channels to the services at the addresses of `settings`."""
    services = [
        service
        for contract in (
            rows_pb2,
            jobs_pb2,
            following_pb2,
            sharing_pb2,
            account_pb2,
            group_pb2,
            prompts_pb2,
            conversation_pb2,
            questions_pb2,
        )
        for service in contract.DESCRIPTOR.services_by_name.values()
    ]
    knowledge_services = (
        knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"],
        files_pb2.DESCRIPTOR.services_by_name["FileService"],
    )
    async with (
        service_channel(settings, settings.assistants_address, *services) as assistants,
        service_channel(settings, settings.knowledge_address, *knowledge_services) as knowledge,
    ):
        yield Peers(assistants, knowledge)


@asynccontextmanager
async def app(settings: MigrationSettings, peers: Peers) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the service serves, with `peers` as the ways to other services."""
    assistants = peers.assistants
    credentials = ServiceCredentials("migration")
    rows = rows_pb2_grpc.RowServiceStub(assistants)
    batches = RowBatches(rows_pb2_grpc.RowBatchServiceStub(assistants), credentials)
    importer = None
    operators = LambServer(settings.lamb_kb_url, settings.lamb_kb_token.get_secret_value())
    if lamb_database := settings.lamb_database or settings.followed_database:
        sharing = Sharing(sharing_pb2_grpc.SharingServiceStub(assistants))
        accounts = account_stub(assistants)
        texts = LtiTexts(accounts, credentials)
        links = LinkImport(texts, Courses(group_pb2_grpc.GroupServiceStub(assistants), texts))
        contents = ContentImport(
            texts,
            prompts_pb2_grpc.PromptServiceStub(assistants),
            conversation_pb2_grpc.ConversationServiceStub(assistants),
            questions_pb2_grpc.QuestionServiceStub(assistants),
            accounts,
        )
        importer = LambImport(
            lamb_database,
            settings.lamb_prefix,
            batches,
            sharing,
            operators,
            (links, contents),
            LambServer(settings.lamb_library_url, settings.lamb_library_token.get_secret_value()),
        )
    async with AsyncExitStack() as exits:
        http = await exits.enter_async_context(new_client(_KB_SECONDS, proxies=settings.proxies))
        guarded_http = await exits.enter_async_context(
            new_client(_KB_SECONDS, Egress(settings.private_networks), proxies=settings.proxies)
        )
        knowledge = KnowledgeCopy(
            peers.knowledge, LambReader(http, guarded_http), LibraryReader(http, guarded_http)
        )
        work = Work(batches, importer, knowledge)
        runner = JobRunner(jobs_pb2_grpc.JobServiceStub(assistants), credentials, work)
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
                MigrationServicer(rows, work, runner),
                checks,
            ),
        ]


SERVICE = OptionalService(
    MigrationSettings,
    lambda settings, assistants, knowledge: app(settings, Peers(assistants, knowledge)),
)
