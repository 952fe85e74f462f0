"""The assembly of the assistants service."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path

from heddle.assistant.v1 import (
    assistant_pb2_grpc,
    following_pb2_grpc,
    jobs_pb2_grpc,
    prompts_pb2_grpc,
    questions_pb2_grpc,
    rows_pb2_grpc,
    sharing_pb2_grpc,
    versions_pb2_grpc,
)
from heddle.audit.v1 import audit_pb2_grpc
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle.conversation.v1 import batches_pb2_grpc, conversation_pb2_grpc
from heddle.group.v1 import group_pb2_grpc, insights_pb2_grpc
from heddle.knowledge.v1 import knowledge_pb2, knowledge_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2, orchestrator_pb2_grpc
from heddle.person.v1 import person_pb2_grpc
from heddle.rubric.v1 import rubric_pb2_grpc
from heddle.usage.v1 import usage_pb2_grpc
from heddle_runtime.http.egress import Egress
from heddle_runtime.identity.people import PersonServicer
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import service_channel
from heddle_runtime.serving.background import DAY, HOUR, repeating
from heddle_runtime.serving.server import Binding, bind
from heddle_runtime.settings import addresses
from heddle_runtime.storage.database.engine import open_database
from heddle_runtime.storage.database.upgrading import upgrade
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from heddle_assistants.accounts.bootstrap import (
    AccountSettings,
    account_service,
    encryption_keys,
)
from heddle_assistants.accounts.model_prices import prices_of_file
from heddle_assistants.accounts.organizations import Organizations
from heddle_assistants.assistants.servicer import AssistantServicer
from heddle_assistants.audit.log import open_audit_log
from heddle_assistants.audit.servicer import AuditServicer
from heddle_assistants.batches.servicer import BatchServicer
from heddle_assistants.batches.servicer import expire as expire_batches
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.catalog.folder import FolderAssistants
from heddle_assistants.catalog.folder_checks import FolderChecks
from heddle_assistants.conversations.answers import ConversationServicer
from heddle_assistants.conversations.expiry import expire as expire_conversations
from heddle_assistants.conversations.owners import Owners, reseal_owner_keys
from heddle_assistants.database.schema import SCHEMA
from heddle_assistants.following.applying import Applying
from heddle_assistants.following.claims import Claims
from heddle_assistants.following.servicer import FollowingServicer
from heddle_assistants.groups.members import Members
from heddle_assistants.groups.servicer import GroupServicer
from heddle_assistants.groups.store import Groups
from heddle_assistants.imports.rows import RowImport
from heddle_assistants.insights.copies import expire as expire_copies
from heddle_assistants.insights.counting import Counting
from heddle_assistants.insights.servicer import InsightServicer
from heddle_assistants.jobs.servicer import JobServicer
from heddle_assistants.jobs.store import Jobs
from heddle_assistants.library.store import PROMPT, RUBRIC, Library
from heddle_assistants.other_services import OtherServices
from heddle_assistants.people.data import DatabaseData
from heddle_assistants.prompts.servicer import PromptServicer
from heddle_assistants.questions.servicer import QuestionServicer
from heddle_assistants.repository.batches import Batches
from heddle_assistants.repository.deleting import Deletions
from heddle_assistants.repository.migrating import Migrations
from heddle_assistants.repository.reader import Reader
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import Writer
from heddle_assistants.rows.conversion import RowConversion
from heddle_assistants.rows.servicer import RowBatchServicer, RowServicer
from heddle_assistants.rubrics.servicer import RubricServicer
from heddle_assistants.sharing.servicer import SharingServicer
from heddle_assistants.sharing.store import SharedAssistants
from heddle_assistants.usage.days import DailyUsage
from heddle_assistants.usage.price_lookup import PriceLookup
from heddle_assistants.usage.recording import Recording
from heddle_assistants.usage.reports import Budgets, Reports
from heddle_assistants.usage.reservations import Reservations
from heddle_assistants.usage.servicer import UsageServicer
from heddle_assistants.validation import Validation
from heddle_assistants.versions.retention import Retention, expire
from heddle_assistants.versions.servicer import VersionServicer
from heddle_assistants.versions.store import Versions


class AssistantsSettings(AccountSettings):
    """Settings of the assistants service."""

    model_config = SettingsConfigDict(env_prefix="HEDDLE_ASSISTANTS_")

    listen: addresses.Listen = addresses.ASSISTANTS
    database: str = Field(
        default="sqlite:///.heddle/heddle.db",
        repr=False,
        description="Where assistants, organisations and keys are stored: sqlite:///PATH, a file "
        "on a local disk, or postgresql://USER:PASSWORD@HOST:PORT/NAME.",
    )
    assistants_dir: Path = Field(
        default=Path("assistants"),
        validation_alias="HEDDLE_ASSISTANTS_DIR",
        description="Folder of further assistants, one YAML or JSON file each. No call can change "
        "them. A file is read again when it changes.",
    )
    orchestrator_address: addresses.OrchestratorAddress = addresses.ORCHESTRATOR
    connector_address: addresses.ConnectorAddress = addresses.CONNECTOR
    knowledge_address: addresses.KnowledgeAddress = addresses.KNOWLEDGE
    migrate_on_read: bool = Field(
        default=True,
        description="Migrate an assistant of an older format to the newest one when it is first "
        "used. If 0, reads write nothing, and such an assistant answers as its old columns say.",
    )
    audit_days: int = Field(
        default=400,
        ge=1,
        le=36_500,
        description="Days after which events of the audit log are deleted. The deletion is an "
        "event too.",
    )
    versions: int = Field(
        default=50,
        ge=1,
        le=10_000,
        description="The most versions of an assistant that are stored. The oldest are deleted "
        "every hour.",
    )
    version_days: int = Field(
        default=400,
        ge=1,
        le=36_500,
        description="Days after which versions of assistants are deleted. The newest stays.",
    )
    cleanup_seconds: float = Field(
        default=300.0,
        gt=0,
        description="Seconds between two times at which the service removes deleted rows from the "
        "files of the database.",
    )
    undelete_days: int = Field(
        default=30,
        ge=1,
        le=36_500,
        description="Days for which the deletion of an assistant can be taken back. Within an hour "
        "after that, its versions and contents are deleted.",
    )
    usage_days: int = Field(
        default=800,
        ge=1,
        le=36_500,
        description="Days after which the usage of a day is deleted. The sums of assistants, which "
        "quotas count, stay.",
    )
    conversation_days: int = Field(
        default=365,
        ge=1,
        le=36_500,
        description="Days after the last change at which conversations are deleted, unless the "
        "organisation sets `conversations_days` of `retention`. Responses that belong to no "
        "conversation are deleted after 30 days at the latest.",
    )
    prices: Path | None = Field(
        default=None,
        description="A JSON file with what models cost, in US dollars for a million tokens: "
        '{"openai/gpt-x": {"input": 2.5, "cached_input": 1.25, "output": 10}}. A name that ends '
        "in * stands for all that begin so. An organisation's own prices, the member prices "
        "of its settings, come first. Without a price nothing is spent.",
    )


@asynccontextmanager
async def connect(settings: AssistantsSettings) -> AsyncGenerator[OtherServices]:
    """Yield the clients of the services at the addresses of `settings`."""
    services = orchestrator_pb2.DESCRIPTOR.services_by_name.values()
    contract = connector_pb2.DESCRIPTOR.services_by_name.values()
    embedding = knowledge_pb2.DESCRIPTOR.services_by_name.values()
    async with (
        service_channel(settings, settings.orchestrator_address, *services) as orchestrator,
        service_channel(settings, settings.connector_address, *contract) as connector,
        service_channel(settings, settings.knowledge_address, *embedding) as knowledge,
    ):
        yield OtherServices(
            orchestrator_pb2_grpc.OrchestratorServiceStub(orchestrator),
            connector_pb2_grpc.ConnectorServiceStub(connector),
            knowledge_pb2_grpc.KnowledgeServiceStub(knowledge),
        )


@asynccontextmanager
async def app(
    settings: AssistantsSettings, services: OtherServices
) -> AsyncGenerator[Sequence[Binding]]:
    """Yield what the service serves, with the services that check assistants and providers."""
    credentials = ServiceCredentials("assistants")
    validation = Validation(services, credentials)
    prices = prices_of_file(settings.prices)
    async with (
        open_database(settings.database) as database,
        FolderChecks(validation).running() as checks,
        AsyncExitStack() as exits,
    ):
        await upgrade(database, SCHEMA)
        keys = encryption_keys(settings.database, settings)
        audit = await open_audit_log(database, keys, refuse=not settings.secrets_lost)
        daily_usage = DailyUsage(database, settings.usage_days)
        retention = Retention(settings.versions, settings.version_days, settings.undelete_days)
        for work, pause, rows_named in (
            (partial(audit.expire, settings.audit_days), DAY, "events of the audit log"),
            (partial(expire, database, retention), HOUR, "versions of assistants"),
            (daily_usage.expire, DAY, "daily usage"),
            (partial(expire_copies, database), HOUR, "copies of questions"),
            (
                partial(expire_conversations, database, settings.conversation_days),
                HOUR,
                "conversations",
            ),
            (partial(expire_batches, database), HOUR, "batches"),
            (database.clean_up, settings.cleanup_seconds, "rows in files"),
        ):
            failure = f"old {rows_named} not deleted, will be retried"
            await exits.enter_async_context(repeating(work, pause, failure))
        await reseal_owner_keys(database, keys)
        owners = Owners(keys)
        rows, writer = Rows(database), Writer(audit)
        counting = Counting(rows, audit.people)
        reader = Reader(rows, Migrations(audit, enabled=settings.migrate_on_read))
        folder = FolderAssistants(settings.assistants_dir, checks)
        await folder.contents()  # its faults are logged now
        catalog = Catalog(folder, rows, reader)
        price_lookup = PriceLookup(database, keys, prices)
        batches = Batches(database, audit, migrates=settings.migrate_on_read)
        importer = RowImport(database, audit, keys, Egress(settings.private_networks), validation)
        accounts = await account_service(database, audit, settings.database, settings, services)
        yield [
            bind(
                assistant_pb2_grpc.add_AssistantServiceServicer_to_server,
                AssistantServicer(
                    catalog,
                    reader,
                    writer,
                    Budgets(database, price_lookup),
                    validation,
                    database,
                    Deletions(audit, settings.undelete_days),
                ),
                {"database": database.check},
            ),
            bind(
                versions_pb2_grpc.add_VersionServiceServicer_to_server,
                VersionServicer(Versions(database, catalog), catalog, writer, validation),
            ),
            bind(
                sharing_pb2_grpc.add_SharingServiceServicer_to_server,
                SharingServicer(catalog, rows, SharedAssistants(database, audit)),
            ),
            bind(
                questions_pb2_grpc.add_QuestionServiceServicer_to_server,
                QuestionServicer(database, audit, catalog),
            ),
            bind(
                rows_pb2_grpc.add_RowServiceServicer_to_server,
                RowServicer(catalog, rows, reader, writer, validation),
            ),
            bind(
                rows_pb2_grpc.add_RowBatchServiceServicer_to_server,
                RowBatchServicer(RowConversion(batches, importer), importer),
            ),
            bind(
                jobs_pb2_grpc.add_JobServiceServicer_to_server, JobServicer(Jobs(database, audit))
            ),
            bind(
                following_pb2_grpc.add_FollowingServiceServicer_to_server,
                FollowingServicer(database, Claims(database), Applying(audit, keys)),
            ),
            bind(
                rubric_pb2_grpc.add_RubricServiceServicer_to_server,
                RubricServicer(Library(RUBRIC, database, audit)),
            ),
            bind(
                prompts_pb2_grpc.add_PromptServiceServicer_to_server,
                PromptServicer(Library(PROMPT, database, audit)),
            ),
            bind(
                usage_pb2_grpc.add_UsageServiceServicer_to_server,
                UsageServicer(
                    Recording(database, price_lookup),
                    Reservations(database, price_lookup),
                    Reports(database, audit, catalog, rows, price_lookup),
                    price_lookup,
                    daily_usage,
                    Organizations(database, audit, keys),
                    writer,
                ),
            ),
            bind(
                audit_pb2_grpc.add_AuditServiceServicer_to_server,
                AuditServicer(database, audit, keys),
            ),
            bind(
                person_pb2_grpc.add_PersonServiceServicer_to_server,
                PersonServicer(DatabaseData(database, audit, owners)),
            ),
            bind(
                conversation_pb2_grpc.add_ConversationServiceServicer_to_server,
                ConversationServicer(database, owners, settings.conversation_days, counting),
            ),
            bind(
                batches_pb2_grpc.add_BatchServiceServicer_to_server,
                BatchServicer(database, owners),
            ),
            bind(
                group_pb2_grpc.add_GroupServiceServicer_to_server,
                GroupServicer(Groups(database, audit), Members(database, audit)),
            ),
            bind(
                insights_pb2_grpc.add_InsightServiceServicer_to_server,
                InsightServicer(database, catalog, audit.people, services),
            ),
            accounts,
        ]
