"""From a LAMB database to an answer, through the service."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import pytest
from assistants.both_services import both_services
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT, JOB_KIND_SWEEP
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc as pb_grpc
from heddle_assistants.app import AssistantsSettings
from heddle_assistants.database.schema import organizations
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from heddle_runtime.storage.database.engine import open_database
from migration.lamb.lamb_database import filled, legacy_rows
from migration.lamb.running import rows

SECRETS = {"key_pepper": "p" * 32, "encryption_key": "e" * 32}
SERVICES = (
    pb.DESCRIPTOR.services_by_name["MigrationService"],
    assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"],
    account_pb2.DESCRIPTOR.services_by_name["AccountService"],
)


def settings(database_url: str, folder: Path) -> AssistantsSettings:
    given = {"database": database_url, "assistants_dir": folder / "none", **SECRETS}
    return AssistantsSettings(listen="127.0.0.1:0", drain_wait=0, **given)  # type: ignore[arg-type] # pydantic checks


@pytest.fixture
async def service(database_url: str, tmp_path: Path) -> AsyncIterator[grpc.aio.Channel]:
    """A running service beside a LAMB database."""
    lamb = filled(tmp_path / "lamb_v4.db")
    chosen = settings(database_url, tmp_path)
    async with (
        running(both_services(chosen, lamb.path), chosen) as found,
        channel(found.address, *SERVICES, secret=OF_THIS_PROCESS) as opened,
    ):
        yield opened


async def imported(service: grpc.aio.Channel) -> list[pb.RunMigrationResponse]:
    stub = pb_grpc.MigrationServiceStub(service)
    return [
        each
        async for each in stub.RunMigration(
            pb.RunMigrationRequest(kind=JOB_KIND_IMPORT), **new_call_options(60)
        )
    ]


async def test_an_imported_assistant_answers_under_its_old_name(service: grpc.aio.Channel) -> None:
    await imported(service)
    stub = assistant_pb2_grpc.AssistantServiceStub(service)
    for reference in ("lamb_assistant.42", "42", "LAMB:3_tutor"):
        request = assistant_pb2.GetAssistantRequest(reference=reference)
        response = await stub.GetAssistant(request, **new_call_options(20))
        found = response.assistant
        assert (found.id, found.owner, found.organization) == ("42", "bo@example.org", "physics")
        assert response.published


async def test_the_quota_of_an_imported_assistant_takes_effect(service: grpc.aio.Channel) -> None:
    await imported(service)
    limited = [row for row in legacy_rows() if '"quota"' in (row["api_callback"] or "")]
    assert limited
    stub = assistant_pb2_grpc.AssistantServiceStub(service)
    for row in limited:
        request = assistant_pb2.GetAssistantRequest(reference=str(row["id"]))
        response = await stub.GetAssistant(request, **new_call_options(20))
        assert response.quota == assistant_pb2.Quota(limit_micros=5_000_000)


async def test_every_legacy_row_migrates_after_its_import_but_the_broken_one(
    service: grpc.aio.Channel,
) -> None:
    await imported(service)
    stub = pb_grpc.MigrationServiceStub(service)

    calls = stub.RunMigration(pb.RunMigrationRequest(kind=JOB_KIND_SWEEP), **new_call_options(60))
    responses = [each async for each in calls]

    refused = [
        found.name for each in responses for found in each.findings if found.HasField("error")
    ]
    broken = next(row["name"] for row in legacy_rows() if row["api_callback"] == "not-json{")
    assert refused == [broken]
    progress = responses[-1].progress
    assert (progress.changed, progress.refused) == (len(list(legacy_rows())) + 3, 1)


async def test_the_settings_of_an_organisation_are_kept_sealed_and_still_of_use(
    service: grpc.aio.Channel, database_url: str
) -> None:
    await imported(service)
    stub = account_pb2_grpc.AccountServiceStub(service)

    request = account_pb2.ResolveSettingsRequest(owner="bo@example.org")
    response = await ServiceCredentials("orchestrator").call(stub.ResolveSettings, request, 20)

    assert response.organization == "physics"
    assert response.providers["openai"].api_key == "sk-lambs-own"
    async with open_database(database_url) as database:
        config = (await rows(database, organizations))[7]["config"]
    assert "sk-lambs-own" not in config
    assert json.loads(config)["setups"]["default"]["providers"]["openai"]["base_url"]


async def test_a_service_that_knows_no_lamb_says_what_to_set(
    database_url: str, tmp_path: Path
) -> None:
    chosen = settings(database_url, tmp_path)
    async with (
        running(both_services(chosen), chosen) as found,
        channel(found.address, *SERVICES) as opened,
    ):
        with pytest.raises(grpc.aio.AioRpcError, match="HEDDLE_MIGRATION_LAMB_DATABASE") as error:
            await imported(opened)
    assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION


async def test_a_lamb_database_that_is_gone_is_told(database_url: str, tmp_path: Path) -> None:
    chosen = settings(database_url, tmp_path)
    app = both_services(chosen, tmp_path / "gone.db")
    async with running(app, chosen) as found, channel(found.address, *SERVICES) as opened:
        with pytest.raises(grpc.aio.AioRpcError, match=r"gone\.db cannot be read") as error:
            await imported(opened)
    assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION
