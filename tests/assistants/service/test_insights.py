"""`InsightService`: what learners ask is counted, and no count is about one person."""

import json
from typing import Any

import pytest
from assistants.serving import ADA, ADMIN, Caller, Service
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2, sharing_pb2, sharing_pb2_grpc
from heddle.conversation.v1 import conversation_pb2
from heddle.group.v1 import group_pb2
from heddle.group.v1 import insights_pb2 as pb
from heddle.knowledge.v1 import knowledge_pb2
from heddle.person.v1 import person_pb2, person_pb2_grpc
from heddle_assistants.database.schema import learner_questions, question_days
from heddle_assistants.insights.copies import Copy, expire
from heddle_assistants.insights.similar import similar
from heddle_assistants.other_services import OtherServices
from heddle_assistants.usage.days import DailyUsage
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    NotSetUpError,
    UnavailableError,
)
from heddle_runtime.identity.call_metadata import CALLER
from heddle_runtime.identity.call_metadata import Caller as Calling
from heddle_runtime.identity.callers import Identity
from heddle_runtime.storage.database.engine import Database
from sqlalchemy import Table, func, select, update

BOB = Identity("bob@uni.example", "uni", ("creator",))
CHAIR = Identity("chair@uni.example", "uni", ("organization_admin",))
LEARNERS = [Identity(f"{name}@uni.example", "uni") for name in ("leo", "mia", "zoe")]


async def ask(
    caller: Caller,
    assistant: str,
    name: str,
    status: str = "completed",
    question: str = "",
    **output: Any,
) -> str:
    """Store the answer of an assistant in a conversation of the caller, and return this."""
    create = caller.conversations.CreateConversation
    created = await caller.ask(create, conversation_pb2.CreateConversationRequest())
    model = f"lamb_assistant.{assistant}"
    response = conversation_pb2.Response(
        id=f"resp_{name}",
        status=status,
        document_json=json.dumps({"model": model}),
        conversation=created.conversation.id,
    )
    part = {"type": "output_text", "text": "So.", "annotations": []} | output
    document = {"id": f"msg_{name}", "type": "message", "role": "assistant", "content": [part]}
    item = conversation_pb2.Item(id=f"msg_{name}", document_json=json.dumps(document))
    request = conversation_pb2.PutResponseRequest(
        response=response, output=[item] if status == "completed" else [], assistant=model
    )
    if question:  # the caller was told that teachers read it
        request.informed = True
        content = [{"type": "input_text", "text": question}, {"type": "input_file"}]
        document = {"id": f"ask_{name}", "type": "message", "role": "user", "content": content}
        request.input.add(id=f"ask_{name}", document_json=json.dumps(document))
    request.first_token.FromMilliseconds(300)
    for _ in range(2):  # what is stored twice counts once
        await caller.ask(caller.conversations.PutResponse, request)
    if status == "completed":
        for rating in (-1, 1):
            feedback = conversation_pb2.UpdateFeedbackRequest(
                conversation=created.conversation.id,
                id=item.id,
                feedback=conversation_pb2.Feedback(rating=rating),
            )
            await caller.ask(caller.conversations.UpdateFeedback, feedback)
    return created.conversation.id


async def insights(caller: Caller, **members: str) -> pb.SummarizeQuestionsResponse:
    request = pb.SummarizeQuestionsRequest(**members)
    return await caller.ask(caller.insights.SummarizeQuestions, request)


async def published(ada: Caller, *members: Identity) -> tuple[str, str]:
    """Make an assistant and a group with members, and return both."""
    assistant = (await ada.create("tutor")).assistant.id
    group = group_pb2.Group(title="Biology", assistants=[assistant])
    created = await ada.ask(ada.groups.CreateGroup, group_pb2.CreateGroupRequest(group=group))
    emails = [each.subject for each in members]
    add = group_pb2.AddMembersRequest(id=created.group.id, emails=emails)
    if emails:
        await ada.ask(ada.groups.AddMembers, add)
    return assistant, created.group.id


async def test_questions_of_three_learners_are_counted(service: Service) -> None:
    ada, bob = service.as_(ADA), service.as_(BOB)
    leo, mia, zoe = map(service.as_, LEARNERS)
    assistant, group = await published(ada, *LEARNERS)
    await ask(leo, assistant, "1", annotations=[{"type": "url_citation"}])
    await ask(leo, assistant, "2")
    await ask(mia, assistant, "3", status="failed")
    await ask(ada, assistant, "4")  # its author tries it
    few = await insights(ada, assistant=assistant)
    assert (few.too_few, few.learners, few.total.questions) == (True, 0, 0)
    assert not few.days
    await ask(zoe, assistant, "5")
    for members in (
        {"assistant": assistant},
        {"group": group},
        {"group": group, "assistant": assistant},
    ):
        counted = await insights(ada, **members)
        assert (counted.too_few, counted.learners) == (False, 3)
        assert counted.total == pb.QuestionCounts(
            questions=4, without_sources=2, failures=1, helpful=3, first_token_millis=300
        )
        assert [each.counts for each in counted.days] == [counted.total]
    assert (await insights(ada, group=group, assistant="99")).too_few
    assert (await insights(service.as_(CHAIR), group=group)).learners == 3
    remove = group_pb2.RemoveMemberRequest(group=group, email=LEARNERS[0].subject)
    await ada.ask(ada.groups.RemoveMember, remove)
    assert (await insights(ada, group=group)).too_few
    assert (await insights(ada, assistant=assistant)).learners == 3
    past = {"first_day": "2020-01-01", "last_day": "2020-01-31"}
    assert (await insights(ada, assistant=assistant, **past)).too_few
    for refused in ({"assistant": assistant}, {"group": group}, {"assistant": "99"}, {}):
        with pytest.raises(NotFoundError):
            await insights(bob, **refused)
    with pytest.raises(InvalidRequestError):
        await insights(ada, assistant=assistant, first_day="x")


async def test_a_stranger_changes_no_counts(service: Service, database: Database) -> None:
    ada, bob = service.as_(ADA), service.as_(BOB)
    assistant, _ = await published(ada)
    await ask(bob, assistant, "1")
    await ask(bob, "99", "2", status="failed")
    await ask(bob, "x\0", "3")
    assert await _rows(database) == 0
    share = sharing_pb2.UpdateSharingRequest(
        id=assistant, sharing=sharing_pb2.Sharing(users_who_may_use=[BOB.subject])
    )
    await ada.ask(sharing_pb2_grpc.SharingServiceStub(ada.connection).UpdateSharing, share)
    await ask(bob, assistant, "4")
    assert await _rows(database) == 1


async def test_counts_need_no_stored_texts_and_end_with_the_person(
    service: Service, database: Database
) -> None:
    ada, leo = service.as_(ADA), service.as_(LEARNERS[0])
    assistant, _ = await published(ada, *LEARNERS)
    admin = service.as_(ADMIN)
    settings = account_pb2.Organization(
        slug="uni", settings_json='{"retention": {"conversations_days": 0, "usage_days": 30}}'
    )
    put = account_pb2.PutOrganizationRequest(organization=settings)
    await admin.ask(admin.accounts.PutOrganization, put)
    request = conversation_pb2.PutResponseRequest(
        response=conversation_pb2.Response(id="resp_1", status="completed", document_json="{}"),
        assistant=f"lamb_assistant.{assistant}",
    )
    with pytest.raises(NotSetUpError):
        await leo.ask(leo.conversations.PutResponse, request)
    assert await _rows(database) == 1
    persons = person_pb2_grpc.PersonServiceStub(admin.connection)
    erase = person_pb2.ErasePersonalDataRequest(
        organization="uni",
        email=LEARNERS[0].subject,
        shared_things=person_pb2.SHARED_THINGS_DELETE,
    )
    erased = await admin.ask(persons.ErasePersonalData, erase)
    assert {each.name: each.count for each in erased.places}["question_days"] == 1
    assert {each.name: each.count for each in erased.places}["learner_questions"] == 0
    assert await _rows(database) == 0
    with pytest.raises(NotSetUpError):
        await leo.ask(leo.conversations.PutResponse, request)
    async with database.writing() as connection:
        day = update(question_days).values(day=question_days.c.day - 31)
        await connection.execute(day)
    await DailyUsage(database, 800).expire()
    assert await _rows(database) == 0
    delete = assistant_pb2.DeleteAssistantRequest(id=assistant)
    await ada.ask(ada.assistants.DeleteAssistant, delete)


async def test_teachers_read_questions_if_the_organisation_allows_it_and_learners_know(
    service: Service, database: Database
) -> None:
    ada, admin = service.as_(ADA), service.as_(ADMIN)
    leo, mia, zoe = map(service.as_, LEARNERS)
    assistant, group = await published(ada, *LEARNERS)
    await ask(leo, assistant, "0", question="Before it was allowed?")
    await allow(admin, '{"retention": {"questions_days": 30}}')
    for caller, name, text in ((leo, "1", "Why? leo@uni.example"), (mia, "2", "How?")):
        await ask(caller, assistant, name, question=text)
    await ask(zoe, assistant, "3")  # was not told
    await ask(ada, assistant, "4", question="My own?")
    assert await questions(ada, assistant=assistant) == []  # of two learners
    conversation = await ask(zoe, assistant, "5", status="failed", question="When?")
    for members in ({"assistant": assistant}, {"group": group}):
        texts = await questions(ada, **members)
        assert len(texts) == 3
        assert {"How?", "When?"} < set(texts)
        assert not any("leo" in each for each in texts)
    for refused in ({"assistant": assistant}, {"group": group}):
        with pytest.raises(NotFoundError):
            await questions(service.as_(BOB), **refused)

    await ask(zoe, assistant, "6", question="Where?")
    delete = conversation_pb2.DeleteConversationRequest(id=conversation)
    await zoe.ask(zoe.conversations.DeleteConversation, delete)
    assert sorted(await questions(ada, assistant=assistant))[::2] == ["How?", "Why? [redacted]"]
    persons = person_pb2_grpc.PersonServiceStub(admin.connection)
    erase = person_pb2.ErasePersonalDataRequest(
        organization="uni",
        email=LEARNERS[1].subject,
        shared_things=person_pb2.SHARED_THINGS_DELETE,
    )
    erased = await admin.ask(persons.ErasePersonalData, erase)
    assert {each.name: each.count for each in erased.places}["learner_questions"] == 1
    assert await _rows(database, learner_questions) == 2
    await allow(admin, "{}")
    assert await questions(ada, assistant=assistant) == []
    await expire(database)
    await allow(admin, '{"retention": {"questions_days": 30}}')
    assert await _rows(database, learner_questions) == 0


class Embedding:
    """A knowledge service for which questions with the same first word are about the same."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails
        self.texts: list[str] = []

    async def EmbedTexts(
        self, request: knowledge_pb2.EmbedTextsRequest, **_: Any
    ) -> knowledge_pb2.EmbedTextsResponse:
        if self.fails:
            raise UnavailableError("The model cannot be loaded.")
        self.texts += request.texts
        words = ["How", "Why", "When"]
        vectors = [[float(text.startswith(each)) for each in words] for text in request.texts]
        vector = knowledge_pb2.Embedding
        return knowledge_pb2.EmbedTextsResponse(embeddings=[vector(values=v) for v in vectors])


class Deadline:
    """The context of a call."""

    def time_remaining(self) -> float:
        return 10.0


def copies(*questions: tuple[str, str]) -> list[Copy]:
    """Return questions of learners."""
    return [
        Copy(pb.LearnerQuestion(id=f"q{number}", text=text), learner)
        for number, (learner, text) in enumerate(questions)
    ]


async def grouped(embedding: Embedding, *questions: tuple[str, str]) -> list[tuple[str, int]]:
    stub: Any = embedding
    context: Any = Deadline()
    CALLER.set(Calling("test", ADA))
    groups = await similar(OtherServices(knowledge=stub), copies(*questions), context)
    return [(" ".join(each.questions), each.learners) for each in groups]


async def test_similar_questions_of_three_learners_are_a_group() -> None:
    embedding = Embedding()
    questions = (
        ("leo", "Why so?"),
        ("mia", "Why not?"),
        ("leo", "How?"),
        ("zoe", "Why so?"),
        ("leo", "When?"),
        ("mia", "How else?"),
        ("leo", "How not?"),
        *(("leo", "When?"), ("leo", "When else?"), ("mia", "When not?"), ("zoe", "When so?")),
    )
    assert await grouped(embedding, *questions) == [("q4 q7 q8 q9 q10", 3), ("q0 q1 q3", 3)]
    assert len(embedding.texts) == len(set(embedding.texts)) == 9
    assert await grouped(embedding, *questions[:2]) == []


async def test_questions_are_listed_without_groups_if_texts_cannot_be_embedded() -> None:
    questions = (("leo", "Why?"), ("mia", "Why?"), ("zoe", "Why?"))
    assert await grouped(Embedding(), *questions) == [("q0 q1 q2", 3)]
    assert await grouped(Embedding(fails=True), *questions) == []
    context: Any = Deadline()
    assert await similar(OtherServices(), copies(*questions), context) == []


async def allow(admin: Caller, settings: str) -> None:
    organization = account_pb2.Organization(slug="uni", settings_json=settings)
    put = account_pb2.PutOrganizationRequest(organization=organization)
    await admin.ask(admin.accounts.PutOrganization, put)


async def questions(caller: Caller, **members: str) -> list[str]:
    request = pb.ListQuestionsRequest(**members)
    listed = await caller.ask(caller.insights.ListQuestions, request)
    return [each.text for each in listed.questions]


async def _rows(database: Database, table: Table = question_days) -> int:
    async with database.reading() as connection:
        return await connection.scalar(select(func.count()).select_from(table)) or 0
