"""`ConversationService`: what is stored comes back to its owner, and to no other caller."""

import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Caller, Service
from heddle.account.v1 import account_pb2
from heddle.conversation.v1 import conversation_pb2 as pb
from heddle_assistants.conversations import items as stored_items
from heddle_assistants.conversations.expiry import expire
from heddle_assistants.conversations.words import words_of
from heddle_assistants.database.schema import (
    conversation_items,
    conversation_owners,
    conversations,
    responses,
)
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    PermissionDeniedError,
    ResourceExhaustedError,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import update

STRANGERS = {
    "colleague": Identity("bob@uni.example", "uni", ("creator",)),
    "administrator of the organisation": Identity(
        "chair@uni.example", "uni", ("organization_admin",)
    ),
    "namesake elsewhere": Identity(ADA.subject, "college", ("creator",)),
    "operator": ADMIN,
    "user without an address": Identity(ADA.subject, "uni", ("creator",), client_user="7"),
}


def item(identifier: str, text: str, role: str = "user") -> pb.Item:
    document = {"id": identifier, "type": "message", "role": role, "content": text}
    return pb.Item(id=identifier, document_json=json.dumps(document))


def answer(name: str, question: str, text: str = "", **members: Any) -> pb.PutResponseRequest:
    """Return the request that stores a turn."""
    response = {"id": f"resp_{name}", "document_json": '{"model": "m"}', "status": "completed"}
    return pb.PutResponseRequest(
        response=pb.Response(**response | members.pop("response", {})),
        input=[item(f"msg_{name}q", question)],
        output=[item(f"msg_{name}a", text, "assistant")] if text else [],
        **members,
    )


async def create(caller: Caller, *texts: str, **members: Any) -> str:
    """Store a conversation and return its id."""
    request = pb.CreateConversationRequest(
        conversation=pb.Conversation(**members),
        items=[item(f"msg_{abs(hash(each))}", each) for each in texts],
    )
    created = await caller.ask(caller.conversations.CreateConversation, request)
    return created.conversation.id


async def context(caller: Caller, **members: Any) -> list[str]:
    """Return the ids of the items before a turn."""
    request = pb.GetContextRequest(**members)
    return [each.id for each in (await caller.ask(caller.conversations.GetContext, request)).items]


async def listed_ids(caller: Caller, **members: Any) -> list[str]:
    """Return the ids of conversations."""
    request = pb.ListConversationsRequest(**members)
    page = await caller.ask(caller.conversations.ListConversations, request)
    return [each.id for each in page.conversations]


async def test_turns_follow_one_another_and_branch(service: Service) -> None:
    ada = service.as_(ADA)
    put = ada.conversations.PutResponse
    await ada.ask(put, answer("1", "Who was Ada?", "A mathematician."))
    await ada.ask(put, answer("2", "When?", "In 1843.", after="msg_1a"))
    await ada.ask(put, answer("2", "When?", "In 1843.", after="msg_1a"))  # sent again
    path = ["msg_1q", "msg_1a", "msg_2q", "msg_2a"]
    assert await context(ada, response="resp_2") == path
    assert await context(ada, response="resp_1") == path[:2]
    await ada.ask(ada.conversations.DeleteResponse, pb.DeleteResponseRequest(id="resp_1"))
    assert await context(ada, response="resp_2") == path[2:]

    conversation = await create(ada)
    there = {"response": {"conversation": conversation}}
    for name, after in (("3", None), ("4", None), ("5", "msg_3a")):
        await ada.ask(put, answer(name, "Why?", "So.", after=after, **there))
    branch = ["msg_3q", "msg_3a", "msg_5q", "msg_5a"]
    assert await context(ada, conversation=conversation) == branch
    other = await context(ada, conversation=conversation, after="msg_4a")
    assert other == ["msg_3q", "msg_3a", "msg_4q", "msg_4a"]
    await ada.ask(put, answer("6", "Who?", "Ada.", after="", **there))
    assert await context(ada, conversation=conversation) == ["msg_6q", "msg_6a"]
    assert await context(ada, conversation=conversation, after="") == []
    listed = await ada.ask(
        ada.conversations.ListItems, pb.ListItemsRequest(conversation=conversation, id="msg_6a")
    )
    assert [(each.parent, each.response) for each in listed.items] == [("msg_6q", "resp_6")]
    await ada.ask(
        ada.conversations.DeleteItem, pb.DeleteItemRequest(conversation=conversation, id="msg_6q")
    )
    assert await context(ada, conversation=conversation) == ["msg_6a"]
    request = pb.DeleteItemRequest(conversation=conversation, id="msg_3a")
    await ada.ask(ada.conversations.DeleteItem, request)
    assert await context(ada, conversation=conversation, after="msg_5a") == [
        *("msg_3q", "msg_5q", "msg_5a")
    ]
    page = pb.ListItemsRequest(conversation=conversation, page_size=2, after="msg_4q")
    listed = await ada.ask(ada.conversations.ListItems, page)
    assert ([each.id for each in listed.items], listed.has_more) == (["msg_4a", "msg_5q"], True)
    input_request = pb.ListItemsRequest(response="resp_2")
    listed = await ada.ask(ada.conversations.ListItems, input_request)
    assert [json.loads(each.document_json)["content"] for each in listed.items] == ["When?"]


async def test_a_response_in_the_background_is_replaced_until_it_ends(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    put, get = ada.conversations.PutResponse, ada.conversations.GetResponse

    async def status() -> str:
        read = await ada.ask(get, pb.GetResponseRequest(id="resp_1", with_events=True))
        return f"{read.response.status} {len(read.output)} {read.response.events.decode()}"

    await ada.ask(put, answer("1", "Who?", response={"status": "in_progress"}))
    assert await status() == "in_progress 0 "
    assert await context(ada, response="resp_1") == ["msg_1q"]
    async with database.writing() as connection:
        await connection.execute(update(responses).values(updated_at=1))
    assert await status() == "failed 0 "
    done = answer("1", "Who?", "Ada.", response={"events": b"data: 1"})
    assert (await ada.ask(put, done)).status == "completed"
    late = answer("1", "Who?", response={"status": "cancelled"})
    assert (await ada.ask(put, late)).status == "completed"
    assert await status() == "completed 1 data: 1"
    assert await context(ada, response="resp_1") == ["msg_1q", "msg_1a"]


async def test_one_finds_ones_own_conversations_by_words(service: Service) -> None:
    ada = service.as_(ADA)
    looms = await create(ada, "Which loom weaves the café's Grundwasserspiegel?", title="Looms")
    plain = await create(ada, "Explain photosynthesis, please.")
    assert await listed_ids(ada) in ([plain, looms], [looms, plain])
    for text in ("LOOMS cafe", "wasser", "looms"):
        assert await listed_ids(ada, text=text) == [looms]
    assert (
        await listed_ids(ada, text="loom photosynthesis") == await listed_ids(ada, text="?!") == []
    )
    change = pb.UpdateConversationRequest(id=plain, archived=True)
    changed = await ada.ask(ada.conversations.UpdateConversation, change)
    assert changed.conversation.title == "Explain photosynthesis, please."
    assert (await listed_ids(ada), await listed_ids(ada, archived=True)) == ([looms], [plain])
    for number in range(3):
        await create(ada, f"More of {number}")
    pinned = pb.UpdateConversationRequest(id=looms, pinned=True)
    await ada.ask(ada.conversations.UpdateConversation, pinned)
    assert await listed_ids(ada, pinned=True) == [looms]
    assert looms not in await listed_ids(ada, pinned=False)
    token, seen = "", []
    while True:
        request = pb.ListConversationsRequest(page_size=2, page_token=token)
        page = await ada.ask(ada.conversations.ListConversations, request)
        seen += [each.id for each in page.conversations]
        if not (token := page.next_page_token):
            break
    assert (seen[0], len(seen), len({*seen})) == (looms, 4, 4)


async def test_a_suggested_title_replaces_only_that_of_the_first_words(service: Service) -> None:
    ada = service.as_(ADA)
    conversation = await create(ada)
    put = answer("1", "Who was Ada?", "A mathematician.", response={"conversation": conversation})
    change = ada.conversations.UpdateConversation

    async def changed(**members: Any) -> pb.Conversation:
        request = pb.UpdateConversationRequest(id=conversation, **members)
        return (await ada.ask(change, request)).conversation

    assert (await ada.ask(ada.conversations.PutResponse, put)).untitled
    assert (await changed(archived=False)).title == "Who was Ada?"
    assert (await changed(title="Ada Lovelace", suggested=True)).title == "Ada Lovelace"
    assert (await changed(title="Another", suggested=True)).title == "Ada Lovelace"
    assert (await changed(title="Mine")).title == "Mine"
    put = answer("2", "When?", "In 1843.", response={"conversation": conversation})
    assert not (await ada.ask(ada.conversations.PutResponse, put)).untitled


async def test_the_data_of_a_client_is_replaced_and_deleted(service: Service) -> None:
    ada = service.as_(ADA)
    conversation = await create(ada, metadata={"a": "b"})
    change = ada.conversations.UpdateConversation
    for text, stored in (
        (None, {"a": "b"}),
        ('{"c": "d"}', {"c": "d"}),
        ("{}", {}),
    ):
        request = pb.UpdateConversationRequest(id=conversation, metadata_json=text)
        assert (await ada.ask(change, request)).conversation.metadata == stored
    for text in ("[]", '{"a": 1}', '{"a": null}'):
        request = pb.UpdateConversationRequest(id=conversation, metadata_json=text)
        with pytest.raises(InvalidRequestError) as refused:
            await ada.ask(change, request)
        assert [each.field for each in refused.value.violations] == ["metadata"]


def test_words_have_no_case_and_no_accents() -> None:
    assert words_of("Straße, CAFÉ 日本語!") == {"strasse", "cafe", "日本語"}


async def test_feedback_is_replaced_and_deleted(service: Service) -> None:
    ada = service.as_(ADA)
    conversation = await create(ada, "Who?")
    listed = await ada.ask(
        ada.conversations.ListItems, pb.ListItemsRequest(conversation=conversation)
    )
    rate = ada.conversations.UpdateFeedback
    place: dict[str, Any] = {"conversation": conversation, "id": listed.items[0].id}
    rated = await ada.ask(
        rate, pb.UpdateFeedbackRequest(**place, feedback=pb.Feedback(rating=-1, text="Wrong."))
    )
    assert (rated.feedback.rating, rated.feedback.text) == (-1, "Wrong.")
    listing = ada.conversations.ListItems, pb.ListItemsRequest(conversation=conversation)
    assert (await ada.ask(*listing)).items[0].feedback == rated.feedback
    await ada.ask(rate, pb.UpdateFeedbackRequest(**place))
    assert not (await ada.ask(*listing)).items[0].HasField("feedback")


Call = Callable[[Caller, str], Awaitable[object]]


def _call(name: str, request: type[Any], **members: Any) -> Call:
    def call(caller: Caller, conversation: str) -> Awaitable[object]:
        values = {name: conversation if it is ... else it for name, it in members.items()}
        return caller.ask(getattr(caller.conversations, name), request(**values))

    return call


CALLS: dict[str, Call] = {
    "GetConversation": _call("GetConversation", pb.GetConversationRequest, id=...),
    "UpdateConversation": _call("UpdateConversation", pb.UpdateConversationRequest, id=...),
    "DeleteConversation": _call("DeleteConversation", pb.DeleteConversationRequest, id=...),
    "CreateItems": _call(
        "CreateItems", pb.CreateItemsRequest, conversation=..., items=[item("msg_n", "x")]
    ),
    "ListItems": _call("ListItems", pb.ListItemsRequest, conversation=...),
    "ListItems of a response": _call("ListItems", pb.ListItemsRequest, response="resp_1"),
    "DeleteItem": _call("DeleteItem", pb.DeleteItemRequest, conversation=..., id="msg_1a"),
    "UpdateFeedback": _call(
        "UpdateFeedback", pb.UpdateFeedbackRequest, conversation=..., id="msg_1a"
    ),
    "GetContext": _call("GetContext", pb.GetContextRequest, conversation=...),
    "GetContext of a response": _call("GetContext", pb.GetContextRequest, response="resp_1"),
    "PutResponse": lambda caller, conversation: caller.ask(
        caller.conversations.PutResponse,
        answer("2", "x", response={"conversation": conversation}),
    ),
    "PutResponse after an item": lambda caller, _: caller.ask(
        caller.conversations.PutResponse, answer("2", "x", after="msg_1a")
    ),
    "GetResponse": _call("GetResponse", pb.GetResponseRequest, id="resp_1"),
    "DeleteResponse": _call("DeleteResponse", pb.DeleteResponseRequest, id="resp_1"),
}


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_what_is_stored_does_not_exist_for_others(embedded: Service, stranger: str) -> None:
    ada, other = embedded.as_(ADA), embedded.as_(STRANGERS[stranger])
    conversation = await create(ada, "Secret.")
    there = {"conversation": conversation}
    await ada.ask(ada.conversations.PutResponse, answer("1", "Who?", "Ada.", response=there))
    refused = {}
    for name, call in CALLS.items():
        with pytest.raises(HeddleError) as caught:
            await call(other, conversation)
        refused[name] = type(caught.value)
    client = other.identity.client_user
    writes = {"UpdateConversation", "DeleteConversation", "CreateItems", "DeleteItem"}
    writes |= {"UpdateFeedback", "PutResponse", "PutResponse after an item", "DeleteResponse"}
    expected = {
        name: PermissionDeniedError if client and name in writes else NotFoundError
        for name in CALLS
    }
    assert refused == expected
    single = pb.GetContextRequest(ids=["msg_1a"])
    read = await other.ask(other.conversations.GetContext, single)
    assert (len(read.single_items), await listed_ids(other)) == (0, [])
    for name, call in CALLS.items():
        if not name.startswith(("Delete", "PutResponse")):
            await call(ada, conversation)


REFUSED: dict[str, tuple[str, object, str]] = {
    "a long title": (
        "CreateConversation",
        pb.CreateConversationRequest(conversation=pb.Conversation(title="x" * 201)),
        "title",
    ),
    "too much metadata": (
        "CreateConversation",
        pb.CreateConversationRequest(
            conversation=pb.Conversation(metadata={str(each): "x" for each in range(17)})
        ),
        "metadata",
    ),
    "too many items": (
        "CreateConversation",
        pb.CreateConversationRequest(items=[item(f"msg_{each}", "x") for each in range(21)]),
        "items",
    ),
    "no JSON": (
        "CreateConversation",
        pb.CreateConversationRequest(items=[pb.Item(id="msg_1", document_json="[")]),
        "items[0].document_json",
    ),
    "a wrong id": (
        "CreateConversation",
        pb.CreateConversationRequest(items=[item("a b", "x")]),
        "items[0].id",
    ),
    "an unknown status": (
        "PutResponse",
        answer("1", "x", response={"status": "odd"}),
        "response.status",
    ),
    "a token of another list": (
        "ListConversations",
        pb.ListConversationsRequest(page_token="eA=="),
        "page_token",
    ),
    "a long new title": (
        "UpdateConversation",
        pb.UpdateConversationRequest(id="c", title="x" * 201),
        "title",
    ),
    "a wrong rating": (
        "UpdateFeedback",
        pb.UpdateFeedbackRequest(conversation="c", id="m", feedback=pb.Feedback(rating=2)),
        "feedback.rating",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_is_wrong_is_refused_with_its_field(embedded: Service, case: str) -> None:
    method, request, field = REFUSED[case]
    ada = embedded.as_(ADA)
    await create(ada, "x")
    with pytest.raises(InvalidRequestError) as refused:
        await ada.ask(getattr(ada.conversations, method), request)
    assert [each.field for each in refused.value.violations] == [field]


async def test_a_copy_of_the_database_shows_no_texts(service: Service, database: Database) -> None:
    ada = service.as_(ADA)
    conversation = await create(ada, "Loom question", title="Loom title", metadata={"Loom": "Loom"})
    response = {"conversation": conversation, "document_json": '{"a": "Loom"}', "events": b"Loom"}
    await ada.ask(ada.conversations.PutResponse, answer("1", "Loom", "Loom", response=response))
    feedback = pb.UpdateFeedbackRequest(
        conversation=conversation, id="msg_1a", feedback=pb.Feedback(text="Loom")
    )
    await ada.ask(ada.conversations.UpdateFeedback, feedback)
    tables = (conversations, conversation_items, conversation_owners, responses)
    async with database.reading() as connection:
        rows = repr([(await connection.execute(each.select())).all() for each in tables])
    assert conversation in rows
    assert "loom" not in rows.lower()


async def test_old_conversations_and_responses_are_deleted(
    service: Service, database: Database
) -> None:
    ada = service.as_(ADA)
    old, new = await create(ada, "old"), await create(ada, "new")
    put = ada.conversations.PutResponse
    await ada.ask(put, answer("1", "x", "y", response={"conversation": old}))
    await ada.ask(put, answer("2", "x", "y"))
    async with database.writing() as connection:
        long_ago = update(conversations).where(conversations.c.id == old).values(updated_at=1)
        await connection.execute(long_ago)
        await connection.execute(update(responses).values(updated_at=1))
    await expire(database, 365)
    assert await listed_ids(ada) == [new]
    async with database.reading() as connection:
        left = [
            row.conversation_id for row in await connection.execute(conversation_items.select())
        ]
        assert left == [new]
        assert (await connection.execute(responses.select())).all() == []


async def test_an_organisation_can_store_nothing(service: Service, database: Database) -> None:
    ada, chair = service.as_(ADA), service.as_(ADMIN)
    await create(ada, "x")
    config = {"setups": {"default": {"retention": {"conversations_days": 0}}}}
    request = account_pb2.PutOrganizationRequest(
        organization=account_pb2.Organization(slug="uni", settings_json=json.dumps(config))
    )
    await chair.ask(chair.accounts.PutOrganization, request)
    with pytest.raises(NotSetUpError):
        await create(ada, "y")
    async with database.writing() as connection:
        await connection.execute(update(conversations).values(updated_at=1))
    await expire(database, 365)
    assert await listed_ids(ada) == []


async def test_the_oldest_make_room_for_new_items(
    embedded: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_items, "MAX_ITEMS", 4)
    ada = embedded.as_(ADA)
    put = ada.conversations.PutResponse
    pinned = await create(ada, "a", pinned=True)
    await ada.ask(put, answer("1", "x", "y"))
    await create(ada, "b")
    latest = await create(ada, "c")
    assert (await listed_ids(ada))[0] == pinned
    assert latest in await listed_ids(ada)
    with pytest.raises(NotFoundError):
        await context(ada, response="resp_1")
    with pytest.raises(ResourceExhaustedError):
        await create(ada, "d", "e", "f", "g")
