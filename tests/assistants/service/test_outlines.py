"""What members read of an assistant that they may use but not change: what a list shows."""

import json
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, SERVICE, Service, serving
from assistants.stored import LEGACY, keep
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import rows_pb2
from heddle_runtime.errors import (
    InvalidRequestError,
    MalformedAssistantError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
HIDDEN = "The answer is 42."
TEXT = json.dumps({**LEGACY, "llm": HIDDEN})


async def test_a_member_gets_the_outline_and_those_who_may_read_it_everything(
    database: Database, database_url: str
) -> None:
    texts = {"system_prompt": HIDDEN, "prompt_template": HIDDEN, "metadata": TEXT}
    number = await keep(database, name="tutor", description="Helps.", published=True, **texts)
    async with serving(database_url) as service:
        bob = service.as_(BOB)
        seen = (await bob.get(number)).assistant
        assert (seen.name, seen.description, seen.owner) == ("tutor", "Helps.", ADA.subject)
        row = await bob.ask(bob.rows.GetRow, rows_pb2.GetRowRequest(id=number))
        record = await bob.record(number)
        assert row.row.description == record.record.description == "Helps."
        assert not [each for each in (seen, row, record) if HIDDEN in str(each)]
        with pytest.raises(NotFoundError):
            await bob.ask(bob.rows.GetRow, rows_pb2.GetRowRequest(id=number, as_stored=True))
        for caller in (ADA, CHAIR, ADMIN, SERVICE):
            assert (await service.as_(caller).get(number)).assistant.system_prompt == HIDDEN
            assert HIDDEN in str(await service.as_(caller).record(number))


async def test_a_member_is_not_told_what_is_wrong_with_an_assistant(
    database: Database, database_url: str
) -> None:
    wrong = f'["{HIDDEN}"'
    number = await keep(database, name="tutor", published=True, metadata=wrong)
    async with serving(database_url) as service:
        with pytest.raises(MalformedAssistantError) as caught:
            await service.as_(BOB).get(number)
        assert caught.value.message == (
            f"The assistant {number} cannot be used. Ask its owner to repair it."
        )
        assert not caught.value.violations
        response = await service.as_(ADA).get(number)
        assert response.malformed_metadata == wrong
        assert [each.field for each in response.warnings] == ["metadata"]


async def test_a_service_reads_an_assistant_for_a_user(
    database: Database, database_url: str
) -> None:
    shared = await keep(database, name="shared", published=True, system_prompt=HIDDEN)
    private = await keep(database, name="private", system_prompt=HIDDEN)
    user = pb.User(subject=BOB.subject, organization=BOB.organization)
    async with serving(database_url) as service:
        own = service.as_(SERVICE)

        async def get(reference: str) -> pb.GetAssistantResponse:
            request = pb.GetAssistantRequest(reference=reference, user=user)
            return await own.ask(own.assistants.GetAssistant, request)

        assert (await get(shared)).assistant.system_prompt == HIDDEN
        with pytest.raises(NotFoundError):
            await get(private)
        for caller in (BOB, ADA, ADMIN):
            own = service.as_(caller)
            with pytest.raises(PermissionDeniedError):
                await get(shared)


async def test_services_read_where_answers_of_an_organisation_may_link(service: Service) -> None:
    admin = service.as_(ADMIN)
    organization = account_pb2.Organization(
        slug="uni", settings_json='{"output_hosts": "good.example"}'
    )
    put = account_pb2.PutOrganizationRequest(organization=organization)
    await admin.ask(admin.accounts.PutOrganization, put)
    created = await service.as_(ADA).create("tutor", output_hosts="*.good.example")
    assert created.assistant.output_hosts == "*.good.example"
    request = pb.GetAssistantRequest(reference=created.assistant.id)
    own = await service.as_(ADA).ask(service.as_(ADA).assistants.GetAssistant, request)
    assert own.organization_output_hosts == ""
    request.user.CopyFrom(pb.User(subject=ADA.subject, organization="uni"))
    run = await service.as_(SERVICE).ask(service.as_(SERVICE).assistants.GetAssistant, request)
    assert run.organization_output_hosts == "good.example"
    assert run.assistant.output_hosts == "*.good.example"


async def test_an_organisation_offers_assistants_under_names_of_models(service: Service) -> None:
    created = await service.as_(ADA).create("tutor")
    names = {"claude-*": created.assistant.id, "claude-opus-*": "missing", "gpt-4o": "tutor"}
    admin = service.as_(ADMIN)
    invalid: list[Any] = [[], {"a": 1}, {"": "b"}]
    for wrong in invalid:
        refused = account_pb2.Organization(
            slug="uni", settings_json=json.dumps({"model_names": wrong})
        )
        with pytest.raises(InvalidRequestError) as caught:
            await admin.ask(
                admin.accounts.PutOrganization,
                account_pb2.PutOrganizationRequest(organization=refused),
            )
        assert "'model_names'" in caught.value.violations[0].description
    organization = account_pb2.Organization(
        slug="uni", settings_json=json.dumps({"model_names": names})
    )
    put = account_pb2.PutOrganizationRequest(organization=organization)
    await admin.ask(admin.accounts.PutOrganization, put)
    for name in ("claude-sonnet-4-5", "gpt-4o"):
        assert (await service.as_(ADA).get(name)).assistant.name == "tutor"
    for name in ("claude-opus-4", "gpt-4", "claude"):
        with pytest.raises(NotFoundError):
            await service.as_(ADA).get(name)
    stranger = Identity("eve@other.example", "other", ("creator",))
    with pytest.raises(NotFoundError):
        await service.as_(stranger).get("gpt-4o")
