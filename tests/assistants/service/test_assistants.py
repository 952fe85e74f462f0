"""`AssistantService`: what is kept comes back, and an edit is never lost."""

import json

import pytest
from assistants.serving import ADA, ADMIN, MODEL, Service, serving
from assistants.stored import keep, keep_user, kept, original
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import DEVELOPER, Identity
from heddle_runtime.storage.database.engine import Database

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))


async def test_what_is_created_comes_back(service: Service) -> None:
    ada = service.as_(ADA)
    config = to_struct({"collections": ["4"], "top_k": 3})
    made = await ada.create(
        "tutor",
        title="Tutor",
        description="Explains.",
        system_prompt="You teach.",
        prompt_template="{context}{user_input}",
        tools=[
            pb.ToolBinding(tool="simple_rag", slot="context", config=config),
            pb.ToolBinding(tool="simple_rag", slot="1_context", disabled=True),
            pb.ToolBinding(tool="weather", mode=pb.MODE_FUNCTION, extra_json='{"unit": "K"}'),
        ],
        strategy="sequential",
        capabilities=pb.Capabilities(vision=True),
        cite_sources=True,
        extra_json='{"quota": {"enabled": true}}',
        published=True,
    )
    got = await ada.get(made.assistant.id)

    assert got.assistant == made.assistant
    assert got.etag == made.etag
    assert got.published
    assert (got.assistant.owner, got.assistant.organization) == (ADA.subject, "uni")
    assert [tool.id for tool in got.assistant.tools] == ["simple_rag", "simple_rag_2", "weather"]
    assert [tool.extra_json for tool in got.assistant.tools] == ["", "", '{"unit": "K"}']
    assert json.loads(got.assistant.extra_json)["quota"] == {"enabled": True}


async def test_an_update_replaces_everything_but_whose_it_is(service: Service) -> None:
    ada = service.as_(ADA)
    made = await ada.create("tutor", description="Explains.", system_prompt="You teach.")
    wanted = pb.Assistant(
        id=made.assistant.id, name="teacher", model=MODEL, owner="eve@x.example", organization="x"
    )
    await ada.update(wanted)
    got = (await ada.get(made.assistant.id)).assistant

    assert (got.name, got.description, got.system_prompt) == ("teacher", "", "")
    assert (got.owner, got.organization) == (ADA.subject, "uni")
    assert got.create_time == made.assistant.create_time


async def test_an_update_of_what_changed_meanwhile_is_a_conflict(service: Service) -> None:
    ada = service.as_(ADA)
    made = await ada.create("tutor")
    first = await ada.update(pb.Assistant(id="1", name="tutor", model=MODEL, title="1"), made.etag)
    with pytest.raises(ConflictError, match="'1' changed") as refused:
        await ada.update(pb.Assistant(id="1", name="tutor", model=MODEL, title="2"), made.etag)
    assert refused.value.metadata["assistant"] == "1"
    got = await ada.get("1")
    assert (got.assistant.title, got.etag) == ("1", first.etag)

    await ada.update(pb.Assistant(id="1", name="tutor", model=MODEL, title="3"))
    assert (await ada.get("1")).assistant.title == "3"


async def test_an_update_that_changes_nothing_leaves_the_row_alone(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    made = await ada.create("tutor", tools=[pb.ToolBinding(tool="weather")])
    before = await kept(database, "1")
    updated = await ada.update(made.assistant, made.etag)
    assert updated.etag == made.etag
    assert await kept(database, "1") == before


async def test_an_update_of_a_legacy_row_keeps_its_original(
    service: Service, database: Database
) -> None:
    number = await keep(database)
    before = await kept(database, number)
    await service.as_(ADA).update(pb.Assistant(id=number, name="1_tutor", model=MODEL))
    row, beside = await kept(database, number), await original(database, number)

    assert json.loads(row.metadata)["_format_version"] == 2
    assert beside is not None
    assert beside.metadata == before.metadata
    assert (row.rag_top_k, row.rag_collections) == (5, "4, 7")


async def test_a_name_is_its_owners_once(service: Service) -> None:
    ada = service.as_(ADA)
    await ada.create("tutor")
    await ada.create("other")
    await service.as_(BOB).create("tutor")
    with pytest.raises(AlreadyExistsError, match="'tutor'"):
        await ada.create("tutor")
    with pytest.raises(AlreadyExistsError):
        await ada.update(pb.Assistant(id="2", name="tutor", model=MODEL))


async def test_a_deleted_assistant_is_gone_and_its_name_free(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    made = await ada.create("tutor", published=True)
    delete = pb.DeleteAssistantRequest(id="1", etag=made.etag)
    await ada.ask(ada.assistants.DeleteAssistant, delete)

    row = await kept(database, "1")
    assert row.owner == "deleted_assistant@owi.com"
    assert row.name == f"tutor_{row.id}_deleted_{row.deleted_at}"
    for caller in (ada, service.as_(ADMIN)):
        with pytest.raises(NotFoundError):
            await caller.get("1")
        with pytest.raises(NotFoundError):
            await caller.ask(caller.assistants.DeleteAssistant, pb.DeleteAssistantRequest(id="1"))
        assert await caller.listed(selection=pb.SELECTION_MANAGED) == []
    assert (await ada.create("tutor")).assistant.id == "2"


async def test_two_owners_can_delete_assistants_of_one_name_at_once(service: Service) -> None:
    for caller in (service.as_(ADA), service.as_(BOB)):
        made = await caller.create("tutor")
        request = pb.DeleteAssistantRequest(id=made.assistant.id)
        await caller.ask(caller.assistants.DeleteAssistant, request)
        with pytest.raises(NotFoundError):
            await caller.get(made.assistant.id)


async def test_what_lamb_deleted_is_gone_too(service: Service, database: Database) -> None:
    number = await keep(database, owner="deleted_assistant@owi.com", published=True)
    with pytest.raises(NotFoundError):
        await service.as_(ADMIN).get(number)


async def test_publishing_lets_the_organisation_in_and_can_be_repeated(
    service: Service, database: Database
) -> None:
    ada, bob = service.as_(ADA), service.as_(BOB)
    await ada.create("tutor")
    with pytest.raises(NotFoundError):
        await bob.get("1")
    publish = pb.PublishAssistantRequest(id="1", published=True, group_id="g")
    first = await ada.ask(ada.assistants.PublishAssistant, publish)
    again = await ada.ask(ada.assistants.PublishAssistant, publish)
    assert first == again
    assert (await bob.get("1")).published
    assert (await kept(database, "1")).group_id == "g"

    await ada.ask(ada.assistants.PublishAssistant, pb.PublishAssistantRequest(id="1"))
    with pytest.raises(NotFoundError):
        await bob.get("1")
    row = await kept(database, "1")
    assert (row.published, row.published_at, row.group_id) == (False, None, "g")


async def test_publishing_does_not_care_what_the_metadata_is(
    service: Service, database: Database
) -> None:
    number = await keep(database, metadata="not-json{")
    ada = service.as_(ADA)
    publish = pb.PublishAssistantRequest(id=number, published=True)
    await ada.ask(ada.assistants.PublishAssistant, publish)
    assert (await kept(database, number)).metadata == "not-json{"


async def test_an_administrator_makes_assistants_for_users_of_the_organisation(
    service: Service, database: Database
) -> None:
    await keep_user(database, BOB.subject, "uni", 7)
    await keep_user(database, "eve@college.example", "college", 8)
    made = await service.as_(CHAIR).create("tutor", owner=BOB.subject)
    assert made.assistant.owner == BOB.subject
    assert (await service.as_(BOB).get(made.assistant.id)).assistant == made.assistant

    for stranger in ("eve@college.example", "nobody@college.example"):
        with pytest.raises(PermissionDeniedError, match="a user of the organisation"):
            await service.as_(CHAIR).create("tutor", owner=stranger)
    made = await service.as_(ADMIN).create("tutor", owner="eve@college.example")
    assert made.assistant.organization == "college"
    with pytest.raises(PermissionDeniedError):
        await service.as_(ADA).create("other", owner=BOB.subject)


async def test_the_key_of_an_organisation_owns_nothing(service: Service) -> None:
    with pytest.raises(PermissionDeniedError, match="owns nothing"):
        await service.as_(Identity("key:1", "uni", ("creator",))).create("tutor")


async def test_whoever_is_alone_on_a_machine_finds_everything_again(database_url: str) -> None:
    async with serving(database_url) as service:
        anyone = service.as_(DEVELOPER)
        made = await anyone.create("tutor")
        assert (made.assistant.owner, made.assistant.organization) == ("developer", "default")
        assert [each.id for each in await anyone.listed(selection=pb.SELECTION_OWN)] == ["1"]
        assert (await anyone.get("tutor")).assistant == made.assistant
