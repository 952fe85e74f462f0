"""`GroupService`: teachers manage groups, members use their assistants, and nothing else."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, SERVICE, Caller, Service
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2
from heddle.group.v1 import group_pb2 as pb
from heddle_assistants.database.schema import audit_events, learner_groups
from heddle_assistants.groups.members import check_count
from heddle_runtime.errors import (
    ConflictError,
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import select, update

BOB = Identity("bob@uni.example", "uni", ("creator",))
CAT = Identity("cat@uni.example", "uni", ("creator",))
LEO = Identity("leo@uni.example", "uni")
MIA = Identity("mia@uni.example", "uni")
NAMESAKE = Identity(LEO.subject, "college")
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
DEAN = Identity("dean@college.example", "college", ("organization_admin",))


async def create(caller: Caller, *assistants: str, **members: Any) -> pb.Group:
    """Store a group and return it."""
    group = pb.Group(**{"title": "Biology", "assistants": assistants} | members)
    created = await caller.ask(caller.groups.CreateGroup, pb.CreateGroupRequest(group=group))
    return created.group


async def code_of(caller: Caller, group: str, **members: Any) -> str:
    """Make a code for a group and return it."""
    request = pb.CreateJoiningCodeRequest(id=group, **members)
    return (await caller.ask(caller.groups.CreateJoiningCode, request)).code.code


async def join(caller: Caller, code: str) -> pb.Group:
    joined = await caller.ask(caller.groups.JoinGroup, pb.JoinGroupRequest(code=code))
    return joined.group


async def emails(caller: Caller, group: str) -> list[str]:
    request = pb.ListMembersRequest(id=group)
    listed = await caller.ask(caller.groups.ListMembers, request)
    return [each.email for each in listed.members]


async def usable(caller: Caller) -> list[str]:
    listed = await caller.listed(selection=assistant_pb2.SELECTION_USABLE)
    return [each.id for each in listed]


async def test_members_use_the_assistants_of_their_group(service: Service) -> None:
    ada, leo, mia = service.as_(ADA), service.as_(LEO), service.as_(MIA)
    tutor = (await ada.create("tutor", system_prompt="Secret.")).assistant.id
    other = (await ada.create("other")).assistant.id
    group = await create(ada, tutor)
    assert (list(group.teachers), group.managed) == ([ADA.subject], True)
    code = await code_of(ada, group.id)
    joined = await join(leo, f" {code[:4].lower()}-{code[4:]} ")
    assert (joined.id, joined.managed, joined.member_count) == (group.id, False, 0)
    assert not joined.HasField("code")
    await join(leo, code)  # again

    read = await leo.get(tutor)
    assert (read.assistant.name, read.assistant.system_prompt, read.readable) == (
        "tutor",
        "",
        False,
    )
    assert (await leo.get("LAMB:tutor")).assistant.id == tutor
    assert await usable(leo) == [tutor]
    assert await usable(mia) == await usable(service.as_(NAMESAKE)) == []
    for refused in (leo.get(other), mia.get(tutor), service.as_(NAMESAKE).get(tutor)):
        with pytest.raises(NotFoundError):
            await refused
    listed = await ada.ask(ada.groups.GetGroup, pb.GetGroupRequest(id=group.id))
    assert (listed.group.member_count, listed.group.code.uses_left) == (1, 199)

    remove = pb.RemoveMemberRequest(group=group.id, email=LEO.subject)
    await ada.ask(ada.groups.RemoveMember, remove)
    assert await usable(leo) == []
    with pytest.raises(NotFoundError):
        await leo.get(tutor)
    await join(leo, code)
    change = pb.Group(id=group.id, title="Biology 2", teachers=[ADA.subject])
    await ada.ask(ada.groups.UpdateGroup, pb.UpdateGroupRequest(group=change))
    assert await usable(leo) == []
    await leo.ask(leo.groups.RemoveMember, remove)
    with pytest.raises(NotFoundError):
        await leo.ask(leo.groups.GetGroup, pb.GetGroupRequest(id=group.id))


async def test_a_code_ends_is_used_up_and_is_replaced(service: Service, database: Database) -> None:
    ada, leo, mia = service.as_(ADA), service.as_(LEO), service.as_(MIA)
    group = (await create(ada)).id
    first = await code_of(ada, group)
    second = await code_of(ada, group, uses=1)
    await join(leo, second)
    key = service.as_(Identity("key:1", "uni"))
    client = service.as_(Identity("webui", "uni", client_user="7"))
    for caller, code, error in (
        (mia, first, NotFoundError),
        (mia, second, NotFoundError),
        (service.as_(NAMESAKE), second, NotFoundError),
        (mia, "?", NotFoundError),
        (key, second, PermissionDeniedError),
        (client, second, PermissionDeniedError),
    ):
        with pytest.raises(error):
            await join(caller, code)
    assert (await join(leo, second)).id == group  # who is in it stays
    third = await code_of(ada, group)
    async with database.writing() as connection:
        await connection.execute(update(learner_groups).values(code_expires_at=1))
    with pytest.raises(NotFoundError):
        await join(mia, third)
    fourth = await code_of(ada, group)
    await ada.ask(ada.groups.DeleteJoiningCode, pb.DeleteJoiningCodeRequest(id=group))
    with pytest.raises(NotFoundError):
        await join(mia, fourth)


async def test_members_are_added_by_their_addresses_and_listed(service: Service) -> None:
    ada = service.as_(ADA)
    group = (await create(ada)).id

    async def add(*addresses: str) -> list[str]:
        request = pb.AddMembersRequest(id=group, emails=addresses)
        return list((await ada.ask(ada.groups.AddMembers, request)).added)

    assert await add("Leo@uni.example", "leo@uni.example") == [LEO.subject]
    assert await add(LEO.subject, MIA.subject) == [MIA.subject]
    request = pb.ListMembersRequest(id=group, page_size=1)
    page = await ada.ask(ada.groups.ListMembers, request)
    assert [each.email for each in page.members] == [LEO.subject]
    request.page_token = page.next_page_token
    page = await ada.ask(ada.groups.ListMembers, request)
    assert ([each.email for each in page.members], page.next_page_token) == ([MIA.subject], "")
    with pytest.raises(InvalidRequestError) as refused:
        await add(BOB.subject, "nobody")
    assert [each.field for each in refused.value.violations] == ["emails[1]"]
    change = pb.Group(id=group, title="Biology", teachers=[ADA.subject, MIA.subject])
    await ada.ask(ada.groups.UpdateGroup, pb.UpdateGroupRequest(group=change))
    assert await emails(ada, group) == [LEO.subject]


async def test_a_claim_of_an_identity_provider_makes_members(service: Service) -> None:
    ada, gateway = service.as_(ADA), service.as_(SERVICE)
    group = (await create(ada, claim="bio-1")).id
    by_address = pb.AddMembersRequest(id=group, emails=[MIA.subject])
    await ada.ask(ada.groups.AddMembers, by_address)
    for claims, expected in (
        (["bio-1", "x", "", "\0"], [LEO.subject, MIA.subject]),
        (["bio-1"], [LEO.subject, MIA.subject]),
        ([], [MIA.subject]),
    ):
        for who in (LEO, MIA):
            request = account_pb2.SignInWithProviderRequest(
                email=who.subject,
                provider="sso",
                groups=claims,
                new_user=account_pb2.NewUser(organization="uni", role="member"),
            )
            await gateway.ask(gateway.accounts.SignInWithProvider, request)
        assert await emails(ada, group) == expected


Call = Callable[[Caller, str], Awaitable[object]]


def _call(name: str, request: type[Any], **members: Any) -> Call:
    def call(caller: Caller, group: str) -> Awaitable[object]:
        values = {name: group if it is ... else it for name, it in members.items()}
        return caller.ask(getattr(caller.groups, name), request(**values))

    return call


def _update(caller: Caller, group: str) -> Awaitable[object]:
    change = pb.Group(id=group, title="Chemistry", teachers=[ADA.subject, BOB.subject])
    return caller.ask(caller.groups.UpdateGroup, pb.UpdateGroupRequest(group=change))


READ = _call("GetGroup", pb.GetGroupRequest, id=...)
MANAGE: dict[str, Call] = {
    "ListMembers": _call("ListMembers", pb.ListMembersRequest, id=...),
    "AddMembers": _call("AddMembers", pb.AddMembersRequest, id=..., emails=["n@uni.example"]),
    "RemoveMember": _call("RemoveMember", pb.RemoveMemberRequest, group=..., email=MIA.subject),
    "CreateJoiningCode": _call("CreateJoiningCode", pb.CreateJoiningCodeRequest, id=...),
    "DeleteJoiningCode": _call("DeleteJoiningCode", pb.DeleteJoiningCodeRequest, id=...),
    "UpdateGroup": _update,
    "DeleteGroup": _call("DeleteGroup", pb.DeleteGroupRequest, id=...),
}
CALLERS = {
    "teacher": (ADA, True, True),
    "second teacher": (BOB, True, True),
    "other teacher": (CAT, False, False),
    "learner": (LEO, True, False),
    "other learner": (Identity("zoe@uni.example", "uni"), False, False),
    "administrator": (CHAIR, True, True),
    "operator": (ADMIN, True, True),
    "namesake elsewhere": (Identity(ADA.subject, "college", ("creator",)), False, False),
    "administrator elsewhere": (DEAN, False, False),
    "key of the organisation": (Identity("key:1", "uni"), False, False),
}


@pytest.mark.parametrize("who", CALLERS)
async def test_who_may_do_what_with_a_group(embedded: Service, who: str) -> None:
    identity, reads, manages = CALLERS[who]
    ada, caller = embedded.as_(ADA), embedded.as_(identity)
    group = (await create(ada, teachers=[ADA.subject, BOB.subject])).id
    members = pb.AddMembersRequest(id=group, emails=[LEO.subject, MIA.subject])
    await ada.ask(ada.groups.AddMembers, members)
    outcomes = {}
    for name, call in {"GetGroup": READ, **MANAGE}.items():
        try:
            await call(caller, group)
        except HeddleError as error:
            outcomes[name] = type(error)
    is_creator = bool(identity.scopes)
    refused = NotFoundError if is_creator else PermissionDeniedError
    expected = {} if manages else dict.fromkeys(MANAGE, refused) | {"RemoveMember": NotFoundError}
    assert outcomes == expected | ({} if reads else {"GetGroup": NotFoundError})
    if not manages:
        page = await caller.ask(caller.groups.ListGroups, pb.ListGroupsRequest())
        assert [each.id for each in page.groups] == ([group] if reads else [])


async def test_a_teacher_publishes_only_what_it_may_share(service: Service) -> None:
    ada, bob, chair = service.as_(ADA), service.as_(BOB), service.as_(CHAIR)
    mine = (await ada.create("tutor")).assistant.id
    group = await create(ada, mine, teachers=[ADA.subject, BOB.subject])
    theirs = (await bob.create("private")).assistant.id
    elsewhere = service.as_(Identity("eve@college.example", "college", ("creator",)))
    foreign = (await elsewhere.create("foreign")).assistant.id
    change = pb.Group(id=group.id, title="Biology", teachers=group.teachers)
    for caller, ids, at in (
        (ada, [mine, theirs], 1),
        (ada, ["x"], 0),
        (chair, [mine, foreign], 1),
        (service.as_(ADMIN), [foreign], 0),
    ):
        change.assistants[:] = ids
        with pytest.raises(InvalidRequestError) as refused:
            await caller.ask(caller.groups.UpdateGroup, pb.UpdateGroupRequest(group=change))
        assert [each.field for each in refused.value.violations] == [f"group.assistants[{at}]"]
    change.assistants[:] = [mine, theirs]
    updated = await bob.ask(bob.groups.UpdateGroup, pb.UpdateGroupRequest(group=change))
    assert sorted(updated.group.assistants) == sorted([mine, theirs])
    stale = pb.UpdateGroupRequest(group=change, etag="x-1")
    with pytest.raises(ConflictError):
        await ada.ask(ada.groups.UpdateGroup, stale)
    await bob.ask(bob.assistants.DeleteAssistant, assistant_pb2.DeleteAssistantRequest(id=theirs))
    read = await ada.ask(ada.groups.GetGroup, pb.GetGroupRequest(id=group.id))
    assert list(read.group.assistants) == [mine]


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "no title": ({"title": " "}, "group.title"),
    "a long title": ({"title": "x" * 201}, "group.title"),
    "a long claim": ({"claim": "x" * 201}, "group.claim"),
    "NUL": ({"claim": "\0"}, "group.claim"),
    "no address": ({"teachers": ["nobody"]}, "group.teachers[0]"),
    "many teachers": ({"teachers": [f"{n}@uni.example" for n in range(21)]}, "group.teachers"),
    "many assistants": ({"assistants": ["1"] * 101}, "group.assistants"),
}


@pytest.mark.parametrize("case", WRONG)
async def test_a_wrong_group_is_refused_with_its_field(embedded: Service, case: str) -> None:
    members, field = WRONG[case]
    with pytest.raises(InvalidRequestError) as refused:
        await create(embedded.as_(ADA), **members)
    assert [each.field for each in refused.value.violations] == [field]


async def test_a_code_has_bounds(embedded: Service) -> None:
    ada = embedded.as_(ADA)
    group = (await create(ada)).id
    now = int(time.time())
    for end, uses, field in (
        (now - 1, 1, "expire_time"),
        (now + 400 * 86_400, 1, "expire_time"),
        (now + 60, 5_001, "uses"),
        (now + 60, -1, "uses"),
    ):
        request = pb.CreateJoiningCodeRequest(id=group, uses=uses)
        request.expire_time.seconds = end
        with pytest.raises(InvalidRequestError) as refused:
            await ada.ask(ada.groups.CreateJoiningCode, request)
        assert [each.field for each in refused.value.violations] == [field]
    with pytest.raises(ResourceExhaustedError):
        check_count(5_001)


async def test_changes_of_groups_are_audited(service: Service, database: Database) -> None:
    ada, leo = service.as_(ADA), service.as_(LEO)
    group = (await create(ada)).id
    await join(leo, await code_of(ada, group))
    for call in MANAGE.values():
        if call is not MANAGE["RemoveMember"]:
            await call(ada, group)
    async with database.reading() as connection:
        query = select(audit_events.c.action, audit_events.c.subject, audit_events.c.changes)
        query = query.where(audit_events.c.object_type == "group")
        events = (await connection.execute(query.order_by(audit_events.c.number))).all()
    assert [(each.action, each.subject) for each in events] == [
        ("group.create", ADA.subject),
        ("group.make_code", ADA.subject),
        ("group.join", LEO.subject),
        ("group.add_members", ADA.subject),
        ("group.make_code", ADA.subject),
        ("group.delete_code", ADA.subject),
        ("group.update", ADA.subject),
        ("group.delete", ADA.subject),
    ]
