"""`SharingService`: who may use, edit and hand over an assistant."""

from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, MODEL, SERVICE, Caller, Service
from assistants.stored import keep, keep_user
from heddle.assistant.v1 import assistant_pb2, rows_pb2, sharing_pb2_grpc, versions_pb2
from heddle.assistant.v1 import sharing_pb2 as pb
from heddle.assistant.v1.versions_pb2_grpc import VersionServiceStub
from heddle_runtime.errors import (
    AlreadyExistsError,
    ConflictError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database

BOB = Identity("bob@uni.example", "uni", ("creator",))
CAT = Identity("cat@uni.example", "uni", ("creator",))
DAN = Identity("dan@uni.example", "uni", ("creator",))
NAMESAKE = Identity("bob@uni.example", "college", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))


def stub(caller: Caller) -> Any:
    return sharing_pb2_grpc.SharingServiceStub(caller.connection)


async def share(caller: Caller, number: str, etag: str = "", **fields: Any) -> Any:
    request = pb.UpdateSharingRequest(id=number, sharing=pb.Sharing(**fields), etag=etag)
    return await caller.ask(stub(caller).UpdateSharing, request)


async def sharing(caller: Caller, number: str) -> pb.Sharing:
    response = await caller.ask(stub(caller).GetSharing, pb.GetSharingRequest(id=number))
    return response.sharing  # type: ignore[no-any-return] # the stub is untyped


async def hand_over(caller: Caller, number: str, owner: str) -> Any:
    request = pb.TransferAssistantRequest(id=number, owner=owner)
    return await caller.ask(stub(caller).TransferAssistant, request)


async def ids(caller: Caller, selection: assistant_pb2.Selection.ValueType) -> list[str]:
    return [each.id for each in await caller.listed(selection=selection)]


async def test_users_use_what_is_shared_with_them(service: Service) -> None:
    ada, bob, dan = service.as_(ADA), service.as_(BOB), service.as_(DAN)
    number = (await ada.create("tutor", system_prompt="Secret.")).assistant.id
    await share(ada, number, users_who_may_use=["Bob@Uni.example"])

    response = await bob.get(number)
    assert (response.assistant.name, response.assistant.system_prompt) == ("tutor", "")
    assert not response.readable
    assert (await bob.get("LAMB:tutor")).assistant.id == number
    assert await ids(bob, assistant_pb2.SELECTION_USABLE) == [number]
    assert await ids(bob, assistant_pb2.SELECTION_MANAGED) == []
    assert await ids(bob, assistant_pb2.SELECTION_SHARED) == [number]
    assert await ids(ada, assistant_pb2.SELECTION_SHARED) == []
    assert await ids(service.as_(NAMESAKE), assistant_pb2.SELECTION_SHARED) == []
    user = assistant_pb2.User(subject=BOB.subject, organization="uni")
    run = assistant_pb2.GetAssistantRequest(reference=number, user=user)
    orchestrator = service.as_(SERVICE)
    complete = await orchestrator.ask(orchestrator.assistants.GetAssistant, run)
    assert (complete.assistant.system_prompt, complete.readable) == ("Secret.", False)
    for refused in (
        bob.update(assistant_pb2.Assistant(id=number, name="x", model=MODEL)),
        sharing(bob, number),
        share(bob, number),
        dan.get(number),
        service.as_(NAMESAKE).get(number),
    ):
        with pytest.raises(NotFoundError):
            await refused
    assert await ids(dan, assistant_pb2.SELECTION_USABLE) == []
    await share(ada, number)
    assert await ids(bob, assistant_pb2.SELECTION_SHARED) == []
    with pytest.raises(NotFoundError):
        await bob.get(number)


async def test_editors_read_and_change_and_do_not_own(service: Service) -> None:
    ada, cat = service.as_(ADA), service.as_(CAT)
    number = (await ada.create("tutor", system_prompt="1")).assistant.id
    response = await share(ada, number, users_who_may_edit=[CAT.subject, ADA.subject])
    assert list(response.sharing.users_who_may_edit) == [CAT.subject]

    read = await cat.get(number)
    assert (read.assistant.system_prompt, read.readable) == ("1", True)
    read.assistant.system_prompt = "2"
    await cat.update(read.assistant, read.etag)
    assert (await cat.record(number)).changeable
    await cat.edit(number, description="By LAMB.")
    rows = await cat.ask(cat.rows.ListRows, rows_pb2.ListRowsRequest())
    assert [each.id for each in rows.rows] == [number]
    assert await ids(cat, assistant_pb2.SELECTION_MANAGED) == [number]
    assert await ids(cat, assistant_pb2.SELECTION_OWN) == []
    assert await ids(cat, assistant_pb2.SELECTION_SHARED) == [number]
    assert (await cat.used(number)).assistant_id == number
    versions = VersionServiceStub(cat.connection)
    page = await cat.ask(versions.ListVersions, versions_pb2.ListVersionsRequest(id=number))
    assert [each.action for each in page.versions] == ["update", "update", "share", "create"]
    assert (await sharing(cat, number)).owner == ADA.subject
    publication = assistant_pb2.PublishAssistantRequest(id=number, published=True)
    deletion = assistant_pb2.DeleteAssistantRequest(id=number)
    for refused in (
        cat.ask(cat.assistants.PublishAssistant, publication),
        cat.ask(cat.assistants.DeleteAssistant, deletion),
        share(cat, number),
        hand_over(cat, number, CAT.subject),
    ):
        with pytest.raises(PermissionDeniedError):
            await refused
    with pytest.raises(NotFoundError):
        await service.as_(DAN).update(read.assistant)


async def test_the_visibility_is_the_publication(service: Service) -> None:
    ada = service.as_(ADA)
    created = await ada.create("tutor")
    number = created.assistant.id
    assert (await sharing(ada, number)).visibility == pb.VISIBILITY_PRIVATE
    response = await share(ada, number, created.etag, visibility=pb.VISIBILITY_ORGANIZATION)
    assert (await ada.get(number)).published
    assert (await ada.get(number)).etag == response.etag
    await service.as_(DAN).get(number)
    await share(ada, number, users_who_may_use=[BOB.subject])
    assert (await sharing(ada, number)).visibility == pb.VISIBILITY_ORGANIZATION
    with pytest.raises(ConflictError):
        await share(ada, number, created.etag)


async def test_wrong_addresses_are_refused_and_unknown_ones_named(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    number = (await ada.create("tutor")).assistant.id
    await keep_user(database, BOB.subject, "uni", 1)
    response = await share(ada, number, users_who_may_use=[BOB.subject, DAN.subject])
    assert list(response.sharing.unknown_users) == [DAN.subject]
    many = [f"u{each}@uni.example" for each in range(201)]
    await share(ada, number, users_who_may_use=many[:200])
    for wrong in (["bob"], ["b b@x"], [""], many):
        with pytest.raises(InvalidRequestError):
            await share(ada, number, users_who_may_use=wrong)


async def test_an_assistant_is_handed_over(service: Service, database: Database) -> None:
    ada, bob = service.as_(ADA), service.as_(BOB)
    number = (await ada.create("tutor")).assistant.id
    await share(ada, number, users_who_may_edit=[BOB.subject], users_who_may_use=[CAT.subject])
    with pytest.raises(InvalidRequestError):
        await hand_over(ada, number, BOB.subject)
    await keep_user(database, BOB.subject, "uni", 1)
    response = await hand_over(ada, number, BOB.subject)
    assert response.sharing.owner == BOB.subject
    assert list(response.sharing.users_who_may_edit) == []
    with pytest.raises(NotFoundError):
        await ada.get(number)
    assert await ids(bob, assistant_pb2.SELECTION_OWN) == [number]
    await service.as_(CAT).get(number)
    with pytest.raises(NotFoundError):
        await hand_over(ada, number, ADA.subject)
    await keep_user(database, ADA.subject, "uni", 2)
    await ada.create("tutor")
    with pytest.raises(AlreadyExistsError):
        await hand_over(service.as_(CHAIR), number, ADA.subject)
    other = await keep(database, name="x")
    await hand_over(service.as_(ADMIN), other, "new@uni.example")
