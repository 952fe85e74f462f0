"""Both services on a free port, and callers of them."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import grpc
from assistants.both_services import both_services
from heddle.account.v1 import account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import (
    assistant_pb2_grpc,
    jobs_pb2,
    prompts_pb2,
    prompts_pb2_grpc,
    rows_pb2_grpc,
)
from heddle.conversation.v1 import conversation_pb2_grpc
from heddle.group.v1 import group_pb2_grpc, insights_pb2_grpc
from heddle.migration.v1 import migration_pb2, migration_pb2_grpc, record_pb2, record_pb2_grpc
from heddle.rubric.v1 import rubric_pb2, rubric_pb2_grpc
from heddle.usage.v1 import usage_pb2, usage_pb2_grpc
from heddle_assistants.app import AssistantsSettings, app
from heddle_assistants.other_services import OtherServices
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity import call_metadata
from heddle_runtime.identity.call_metadata import CALLER
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import ResponseStream, channel
from heddle_runtime.serving.server import running

SECRET = "a-secret-of-at-least-32-characters"
ADA = Identity("ada@uni.example", "uni", ("creator",))
ADMIN = Identity("root@heddle.example", "main", ("admin",))
SERVICE = Identity("orchestrator", "", ("service",))
MODEL = pb.ModelRef(connector="openai", model="gpt-4o-mini")
ResponseT = TypeVar("ResponseT")


@dataclass(frozen=True)
class Caller:
    """Somebody who calls the service."""

    connection: grpc.aio.Channel
    migration: grpc.aio.Channel
    identity: Identity

    @property
    def assistants(self) -> "assistant_pb2_grpc.AssistantServiceAsyncStub":
        return assistant_pb2_grpc.AssistantServiceStub(self.connection)

    @property
    def rows(self) -> Any:
        """The service of rows."""
        return rows_pb2_grpc.RowServiceStub(self.connection)

    @property
    def records(self) -> "record_pb2_grpc.RecordServiceAsyncStub":
        return record_pb2_grpc.RecordServiceStub(self.migration)

    @property
    def migrations(self) -> "migration_pb2_grpc.MigrationServiceAsyncStub":
        return migration_pb2_grpc.MigrationServiceStub(self.migration)

    @property
    def rubrics(self) -> "rubric_pb2_grpc.RubricServiceAsyncStub":
        return rubric_pb2_grpc.RubricServiceStub(self.connection)

    @property
    def accounts(self) -> "account_pb2_grpc.AccountServiceAsyncStub":
        return account_pb2_grpc.AccountServiceStub(self.connection)

    @property
    def usage(self) -> "usage_pb2_grpc.UsageServiceAsyncStub":
        return usage_pb2_grpc.UsageServiceStub(self.connection)

    async def ask(
        self, method: Callable[..., Awaitable[ResponseT]], request: object, seconds: float = 30
    ) -> ResponseT:
        """Return the answer, or raise its error."""
        try:
            return await method(request, timeout=seconds, metadata=self.metadata())
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error

    async def all_of(
        self,
        method: Callable[..., ResponseStream[ResponseT]],
        request: object,
        seconds: float = 60,
    ) -> list[ResponseT]:
        """Return all responses of a stream, or raise its error."""
        try:
            call = method(request, timeout=seconds, metadata=self.metadata())
            return [response async for response in call]
        except grpc.aio.AioRpcError as error:
            raise from_rpc(error) from error

    async def get(self, reference: str) -> pb.GetAssistantResponse:
        """Return an assistant."""
        request = pb.GetAssistantRequest(reference=reference)
        return await self.ask(self.assistants.GetAssistant, request)

    async def create(self, name: str, **members: Any) -> pb.CreateAssistantResponse:
        """Make an assistant; `published` is the request's own."""
        published = members.pop("published", False)
        assistant = pb.Assistant(name=name, model=MODEL, **members)
        request = pb.CreateAssistantRequest(assistant=assistant, published=published)
        return await self.ask(self.assistants.CreateAssistant, request)

    async def update(self, assistant: pb.Assistant, etag: str = "") -> pb.UpdateAssistantResponse:
        """Replace an assistant."""
        request = pb.UpdateAssistantRequest(assistant=assistant, etag=etag)
        return await self.ask(self.assistants.UpdateAssistant, request)

    async def listed(self, **members: Any) -> list[pb.AssistantSummary]:
        """Return the first page of a list."""
        request = pb.ListAssistantsRequest(**members)
        return list((await self.ask(self.assistants.ListAssistants, request)).assistants)

    async def record(self, identifier: str) -> record_pb2.GetRecordResponse:
        """Return a record."""
        request = record_pb2.GetRecordRequest(id=identifier)
        return await self.ask(self.records.GetRecord, request)

    async def edit(
        self, identifier: str, etag: str = "", **members: Any
    ) -> record_pb2.UpdateRecordResponse:
        """Change a record."""
        record = record_pb2.Record(**members)
        request = record_pb2.UpdateRecordRequest(id=identifier, record=record, etag=etag)
        return await self.ask(self.records.UpdateRecord, request)

    async def rubric(
        self, identifier: str, on_behalf_of: rubric_pb2.AssistantOwner | None = None
    ) -> rubric_pb2.GetRubricResponse:
        """Return a rubric."""
        request = rubric_pb2.GetRubricRequest(id=identifier, on_behalf_of=on_behalf_of)
        return await self.ask(self.rubrics.GetRubric, request)

    async def create_rubric(
        self, content_json: str, **members: Any
    ) -> rubric_pb2.CreateRubricResponse:
        """Make a rubric."""
        rubric = rubric_pb2.Rubric(content_json=content_json, **members)
        request = rubric_pb2.CreateRubricRequest(rubric=rubric)
        return await self.ask(self.rubrics.CreateRubric, request)

    async def update_rubric(
        self, rubric: rubric_pb2.Rubric, etag: str = ""
    ) -> rubric_pb2.UpdateRubricResponse:
        """Replace a rubric."""
        request = rubric_pb2.UpdateRubricRequest(rubric=rubric, etag=etag)
        return await self.ask(self.rubrics.UpdateRubric, request)

    @property
    def prompts(self) -> "prompts_pb2_grpc.PromptServiceAsyncStub":
        return prompts_pb2_grpc.PromptServiceStub(self.connection)

    @property
    def conversations(self) -> "conversation_pb2_grpc.ConversationServiceAsyncStub":
        return conversation_pb2_grpc.ConversationServiceStub(self.connection)

    @property
    def groups(self) -> "group_pb2_grpc.GroupServiceAsyncStub":
        return group_pb2_grpc.GroupServiceStub(self.connection)

    @property
    def insights(self) -> "insights_pb2_grpc.InsightServiceAsyncStub":
        return insights_pb2_grpc.InsightServiceStub(self.connection)

    async def create_prompt(self, **members: Any) -> prompts_pb2.CreatePromptResponse:
        """Make a prompt."""
        request = prompts_pb2.CreatePromptRequest(prompt=prompts_pb2.Prompt(**members))
        return await self.ask(self.prompts.CreatePrompt, request)

    async def update_prompt(
        self, prompt: prompts_pb2.Prompt, etag: str = ""
    ) -> prompts_pb2.UpdatePromptResponse:
        """Replace a prompt."""
        request = prompts_pb2.UpdatePromptRequest(prompt=prompt, etag=etag)
        return await self.ask(self.prompts.UpdatePrompt, request)

    async def listed_prompts(self, **members: Any) -> list[str]:
        """Return the ids of prompts."""
        request = prompts_pb2.ListPromptsRequest(**members)
        answer = await self.ask(self.prompts.ListPrompts, request)
        return [each.id for each in answer.prompts]

    async def delete_rubric(self, identifier: str, etag: str = "") -> None:
        """Delete a rubric."""
        request = rubric_pb2.DeleteRubricRequest(id=identifier, etag=etag)
        await self.ask(self.rubrics.DeleteRubric, request)

    async def listed_rubrics(self, **members: Any) -> list[str]:
        """Return the ids of the first page of a list."""
        request = rubric_pb2.ListRubricsRequest(**members)
        answer = await self.ask(self.rubrics.ListRubrics, request)
        return [each.id for each in answer.rubrics]

    async def migrate(self, **members: Any) -> list[migration_pb2.RunMigrationResponse]:
        """Migrate, by default everything."""
        request = migration_pb2.RunMigrationRequest(kind=jobs_pb2.JOB_KIND_SWEEP, **members)
        return await self.all_of(self.migrations.RunMigration, request)

    async def roll_back(self, **members: Any) -> list[migration_pb2.RunMigrationResponse]:
        """Take migrations back, by default all."""
        request = migration_pb2.RunMigrationRequest(kind=jobs_pb2.JOB_KIND_ROLLBACK, **members)
        return await self.all_of(self.migrations.RunMigration, request)

    async def consume(
        self, recorder: str, entries: Sequence[usage_pb2.UsageEntry]
    ) -> usage_pb2.RecordUsageResponse:
        """Record what was consumed."""
        request = usage_pb2.RecordUsageRequest(recorder=recorder, entries=entries)
        return await self.ask(self.usage.RecordUsage, request)

    async def used(self, identifier: str) -> usage_pb2.AssistantUsage:
        """Return what an assistant consumed."""
        request = usage_pb2.GetUsageRequest(id=identifier)
        return (await self.ask(self.usage.GetUsage, request)).usage

    async def all_used(self, **members: Any) -> usage_pb2.ListUsageResponse:
        """Return a page of what assistants consumed."""
        return await self.ask(self.usage.ListUsage, usage_pb2.ListUsageRequest(**members))

    async def reset(self, identifier: str) -> usage_pb2.ResetUsageResponse:
        """Begin to count an assistant anew."""
        return await self.ask(self.usage.ResetUsage, usage_pb2.ResetUsageRequest(id=identifier))

    def metadata(self) -> Sequence[tuple[str, str]]:
        """Make the next call one of this caller; the channel adds the token."""
        CALLER.set(call_metadata.Caller("", self.identity))
        return ()


@dataclass
class Service:
    """The running services."""

    connection: grpc.aio.Channel
    migration: grpc.aio.Channel
    address: str

    def as_(self, identity: Identity) -> Caller:
        return Caller(self.connection, self.migration, identity)


@asynccontextmanager
async def serving(
    database_url: str,
    *,
    folder: Path = Path("/nonexistent"),
    migrate: bool = True,
    prices: Path | None = None,
    followed: Path | None = None,
    listen: str = "127.0.0.1:0",
    with_migration: bool = True,
) -> AsyncGenerator[Service]:
    """Run both services over a database, or the assistants service alone."""
    settings = AssistantsSettings.model_validate(
        {
            "listen": listen,
            "drain_wait": 0,
            "database": database_url,
            "assistants_dir": folder,
            "migrate_on_read": migrate,
            "prices": prices,
            "key_pepper": SECRET,
            "encryption_key": SECRET,
            "HEDDLE_IDENTITY_SECRET": SECRET,
        }
    )
    services = (
        both_services(settings, followed=followed)
        if with_migration
        else app(settings, OtherServices())
    )
    async with (
        running(services, settings) as service,
        channel(service.address, secret=settings.identity_secret) as connection,
    ):
        await connection.channel_ready()
        yield Service(connection, connection, service.address)
