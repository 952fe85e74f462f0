"""What LAMB's users have written, as they find it in Heddle after an import."""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from assistants.both_services import both_services
from assistants.serving import SECRET
from google.protobuf.message import Message
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import (
    prompts_pb2,
    prompts_pb2_grpc,
    questions_pb2,
    questions_pb2_grpc,
)
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT, JOB_KIND_ROLLBACK
from heddle.conversation.v1 import conversation_pb2, conversation_pb2_grpc
from heddle.migration.v1 import migration_pb2 as pb
from heddle.migration.v1 import migration_pb2_grpc as pb_grpc
from heddle_assistants.app import AssistantsSettings
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import scopes_of
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from migration.lamb.lamb_database import CONTENTS, Lamb
from migration.lamb.running import Report
from new_databases import database_in

EARLIER = int(time.time()) - 100 * 86_400
ANA, BO = "ana@example.org", "bo@example.org"
SERVICES = [
    service
    for contract in (pb, prompts_pb2, conversation_pb2, questions_pb2, account_pb2)
    for service in contract.DESCRIPTOR.services_by_name.values()
]


def written(path: Path) -> Lamb:
    """Make a LAMB with an assistant, and something of each kind that users write."""
    lamb = Lamb(path).make(CONTENTS)
    lamb.add("organizations", {"id": 1, "slug": "uni"})
    lamb.add(
        "Creator_users",
        {"id": 1, "user_email": "Ana@example.org"},
        {"id": 2, "user_email": BO},
    )
    lamb.add("assistants", {"id": 42, "name": "1_tutor"})
    shared = {"is_shared": 1, "system_prompt": "Be kind.", "description": "For all"}
    lamb.add(
        "prompt_templates",
        {"id": 1, "name": "Kind", "prompt_template": r"\frac{a} {context} {user_input}", **shared},
        {"id": 2, "name": "Mine", "prompt_template": "{user_input}"},
        {"id": 3, "name": "Nobody's", "owner_email": "gone@example.org"},
    )
    messages = {
        "b": {"id": "b", "role": "assistant", "content": "An opening.", "timestamp": EARLIER + 9},
        "a": {"id": "a", "role": "user", "content": "What is a shed?", "timestamp": EARLIER + 5},
        "c": {"id": "c", "role": "user", "content": [{"type": "text", "text": "Why?"}]}
        | {"timestamp": EARLIER + 20},
    }
    times = {"created_at": EARLIER, "updated_at": EARLIER + 20}
    chat = json.dumps({"history": {"messages": messages}})
    lamb.add(
        "lamb_chats",
        {"id": "chat-1", "title": "Sheds", "chat": chat, **times},
        {"id": "chat-2", "title": "Nobody's", "user_id": 9, "chat": chat, **times},
        {"id": "chat-3", "title": "Nothing", **times},
        {"id": "chat-4", "title": "Old", "chat": chat, "created_at": 1, "updated_at": 1},
        {"id": "chat-5", "title": "Bo's", "user_id": 2, "chat": chat, "archived": 1, **times},
        {"id": "chat-6", "title": "Long", "user_id": 2, "chat": long_chat(), **times},
    )
    question = {"role": "user", "content": "What is warp?"}
    several = [question, {"role": "assistant", "content": "…"}, {"role": "user", "content": "Why?"}]
    facts = {"expected_behavior": "threads\nlengthwise"}
    lamb.add(
        "assistant_test_scenarios",
        {"id": "s1", "title": "Warp", "messages": json.dumps([question]), **facts},
        {"id": "s2", "title": "Several", "messages": json.dumps(several)},
        {"id": "s3", "title": "Nothing", "messages": "{broken"},
        {"id": "s4", "title": "Gone", "messages": json.dumps([question]), "assistant_id": 99},
        {
            "id": "s5",
            "title": "Long",
            "messages": json.dumps([question | {"content": "x" * 10_001}]),
        },
    )
    lamb.add("assistant_test_runs", {"id": "r1", "scenario_id": "s1"}, {"id": "r2"})
    lamb.add(
        "assistant_test_evaluations",
        {"id": "e1", "test_run_id": "r1", "verdict": "good", "created_at": "2026-05-02"},
        {"id": "e2", "test_run_id": "r1", "verdict": "bad", "created_at": "2026-05-01"},
        {"id": "e3", "test_run_id": "r2", "verdict": "mixed", "created_at": "2026-05-03"},
    )
    results = [
        {"email": "New@example.org", "name": "New", "status": "failed", "user_id": None},
        {"email": BO, "name": "Bo", "status": "failed", "user_id": None},
        {"email": "left@example.org", "name": "Left", "status": "success", "user_id": 77},
    ]
    lamb.add(
        "bulk_import_logs",
        {"id": 1, "details": json.dumps({"filename": "class.json", "results": results})},
        {"id": 2, "operation_type": "user_activation", "details": '{"results": {"success": [1]}}'},
        {"id": 3, "details": "{broken"},
    )
    return lamb


def long_chat() -> str:
    """Return a chat of more messages than clients add at once."""
    turns = {
        str(n): {"role": ("user", "assistant")[n % 2], "content": str(n), "timestamp": EARLIER + n}
        for n in range(50)
    }
    return json.dumps({"history": {"messages": turns}})


class Here:
    """The services beside a LAMB."""

    def __init__(self, opened: grpc.aio.Channel) -> None:
        self.channel = opened

    async def run(self, kind: int = JOB_KIND_IMPORT, *, dry_run: bool = False) -> Report:
        """Run a job of the migration to its end."""
        report = Report()
        request = pb.RunMigrationRequest(kind=kind, dry_run=dry_run)  # type: ignore[arg-type] # an enum
        with calling_as(Caller("", Identity("root", scopes=("admin",)))):
            stub = pb_grpc.MigrationServiceStub(self.channel)
            async for step in stub.RunMigration(request, **new_call_options(60)):
                report.add(step)
        return report

    async def ask(self, email: str, method: Any, request: Message) -> Any:
        """Call a service as a creator of the organisation."""
        with calling_as(Caller("", Identity(email, "uni", scopes_of("creator")))):
            return await method(request, **new_call_options(20))

    async def prompts(self, email: str) -> list[prompts_pb2.Prompt]:
        """Return the prompts that a creator can insert."""
        stub = prompts_pb2_grpc.PromptServiceStub(self.channel)
        page = await self.ask(email, stub.ListPrompts, prompts_pb2.ListPromptsRequest())
        return list(page.prompts)

    async def questions(self, email: str) -> list[tuple[str, str, str]]:
        """Return the saved questions of the assistant."""
        stub = questions_pb2_grpc.QuestionServiceStub(self.channel)
        request = questions_pb2.GetQuestionsRequest(id="42")
        saved = (await self.ask(email, stub.GetQuestions, request)).questions
        return [(each.title, each.text, each.expected) for each in saved]

    async def users(self) -> dict[str, tuple[str, bool]]:
        """Return the roles of the users of the organisation, and whether they are disabled."""
        stub = account_pb2_grpc.AccountServiceStub(self.channel)
        request = account_pb2.ListUsersRequest(organization="uni")
        with calling_as(Caller("", Identity("root", scopes=("admin",)))):
            users = (await stub.ListUsers(request, **new_call_options(20))).users
        return {each.email: (each.role, each.disabled) for each in users}

    async def chats(self, email: str, **query: Any) -> list[conversation_pb2.Conversation]:
        """Return the conversations in a user's list."""
        stub = conversation_pb2_grpc.ConversationServiceStub(self.channel)
        request = conversation_pb2.ListConversationsRequest(**query)
        return list((await self.ask(email, stub.ListConversations, request)).conversations)

    async def said(self, email: str, conversation: str) -> list[tuple[str, str, int]]:
        """Return the role, the text and the time of each message of a conversation."""
        stub = conversation_pb2_grpc.ConversationServiceStub(self.channel)
        request = conversation_pb2.ListItemsRequest(conversation=conversation, page_size=100)
        items = (await self.ask(email, stub.ListItems, request)).items
        documents = [(json.loads(each.document_json), each.create_time.seconds) for each in items]
        return [(it["role"], it["content"][0]["text"], time) for it, time in documents]


@asynccontextmanager
async def beside(lamb: Lamb, folder: Path) -> AsyncGenerator[Here]:
    """Yield the services, in this process, beside a LAMB."""
    quick = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "shutdown_grace": 0.2}
    stored = AssistantsSettings.model_validate(
        {**quick, "listen": "127.0.0.1:0", "database": database_in(folder)}
        | {"assistants_dir": folder / "none"}
    )
    async with (
        running(both_services(stored, lamb.path), stored) as served,
        channel(served.address, *SERVICES, secret=stored.identity_secret) as opened,
    ):
        yield Here(opened)


@pytest.fixture
async def here(tmp_path: Path) -> AsyncGenerator[Here]:
    """The services beside a LAMB in which users have written something."""
    async with beside(written(tmp_path / "lamb_v4.db"), tmp_path) as services:
        yield services


async def test_templates_are_prompts_of_their_owners(here: Here) -> None:
    dry = await here.run(dry_run=True)
    assert await here.prompts(ANA) == []
    report = await here.run()
    assert dry.counts["prompt_templates"] == report.counts["prompt_templates"] == (3, 2, 0, 1)
    assert "no user" in report.findings["prompt_templates"]["3"].error.message
    assert "doubled" in report.notes("prompt_templates", 1)
    kind, mine = await here.prompts(ANA)
    assert (kind.title, kind.owner, kind.public) == ("Kind", ANA, True)
    assert (kind.description, kind.system_prompt) == ("For all", "Be kind.")
    assert kind.prompt_template == r"\frac{{a}} {context} {user_input}"
    assert (mine.title, mine.public, mine.prompt_template) == ("Mine", False, "{user_input}")
    assert [each.title for each in await here.prompts(BO)] == ["Kind"]


async def test_what_was_imported_once_stays_as_its_owner_changed_it(here: Here) -> None:
    await here.run()
    kind, mine = await here.prompts(ANA)
    stub = prompts_pb2_grpc.PromptServiceStub(here.channel)
    await here.ask(ANA, stub.DeletePrompt, prompts_pb2.DeletePromptRequest(id=mine.id))
    kind.title = "Kinder"
    await here.ask(ANA, stub.UpdatePrompt, prompts_pb2.UpdatePromptRequest(prompt=kind))
    await here.run(JOB_KIND_ROLLBACK)
    again = await here.run()
    assert again.counts["prompt_templates"] == (3, 0, 2, 1)
    assert again.counts["lamb_chats"] == (6, 0, 3, 3)
    assert len(await here.chats(ANA)) == 1
    assert again.counts["assistant_test_scenarios"] == (5, 0, 2, 3)
    assert len(await here.questions(ANA)) == 2
    assert again.counts["bulk_import_logs"] == (3, 0, 2, 1)
    assert [each.title for each in await here.prompts(ANA)] == ["Kinder"]


async def test_chats_are_conversations_that_their_owners_read(here: Here) -> None:
    dry = await here.run(dry_run=True)
    assert await here.chats(ANA) == []
    report = await here.run()
    assert dry.counts["lamb_chats"] == (6, 4, 0, 2)  # how long chats are stored shows later
    assert report.counts["lamb_chats"] == (6, 3, 0, 3)
    errors = {key: it.error.message for key, it in report.findings["lamb_chats"].items()}
    assert errors.keys() == {"chat-2", "chat-3", "chat-4"}
    assert "no user" in errors["chat-2"]
    assert "no messages" in errors["chat-3"]
    assert "older than the 365 days" in errors["chat-4"]
    [chat] = await here.chats(ANA, text="opening")
    assert (chat.title, chat.assistant, chat.read_only) == ("Sheds", "lamb_assistant.42", True)
    assert (chat.create_time.seconds, chat.update_time.seconds) == (EARLIER, EARLIER + 20)
    assert await here.said(ANA, chat.id) == [
        ("user", "What is a shed?", EARLIER + 5),
        ("assistant", "An opening.", EARLIER + 9),
        ("user", "Why?", EARLIER + 20),
    ]
    [archived] = await here.chats(BO, archived=True)
    assert archived.title == "Bo's"
    [long] = await here.chats(BO)
    assert [text for _, text, _ in await here.said(BO, long.id)] == [str(n) for n in range(50)]


async def test_an_imported_conversation_is_read_only(here: Here) -> None:
    await here.run()
    [chat] = await here.chats(ANA)
    stub = conversation_pb2_grpc.ConversationServiceStub(here.channel)
    item = conversation_pb2.Item(id="msg_new", document_json="{}")
    follows = conversation_pb2.GetContextRequest(conversation=chat.id)
    response = conversation_pb2.Response(
        id="resp_1", document_json="{}", status="completed", conversation=chat.id
    )
    add = conversation_pb2.CreateItemsRequest(conversation=chat.id, items=[item])
    for method, request in (
        (stub.CreateItems, add),
        (stub.GetContext, follows),
        (stub.PutResponse, conversation_pb2.PutResponseRequest(response=response, output=[item])),
        (stub.DeleteItem, conversation_pb2.DeleteItemRequest(conversation=chat.id, id="msg_x")),
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await here.ask(ANA, method, request)
        assert refused.value.code() == grpc.StatusCode.PERMISSION_DENIED
    assert len(await here.said(ANA, chat.id)) == 3
    rename = conversation_pb2.UpdateConversationRequest(id=chat.id, title="Looms", pinned=True)
    await here.ask(ANA, stub.UpdateConversation, rename)
    [chat] = await here.chats(ANA)
    assert (chat.title, chat.pinned, chat.read_only) == ("Looms", True, True)
    deletion = conversation_pb2.DeleteConversationRequest(id=chat.id)
    await here.ask(ANA, stub.DeleteConversation, deletion)
    await here.run()
    assert await here.chats(ANA) == []


async def test_tests_are_saved_questions_of_the_assistant(here: Here) -> None:
    dry = await here.run(dry_run=True)
    report = await here.run()
    assert dry.counts["assistant_test_scenarios"] == (5, 3, 0, 2)  # lengths show later
    assert report.counts["assistant_test_scenarios"] == (5, 2, 0, 3)
    assert await here.questions(ANA) == [
        ("Warp (good)", "What is warp?", "threads\nlengthwise"),
        ("Several", "Why?", ""),
    ]
    assert "3 messages" in report.notes("assistant_test_scenarios", "s2")
    errors = report.findings["assistant_test_scenarios"]
    assert "no question" in errors["s3"].error.message
    assert "no such assistant" in errors["s4"].error.message
    assert "at most 10000 characters" in errors["s5"].error.message
    left = report.left_behind
    assert left["assistant_test_runs"] == (
        2,
        "Answers of tests of assistants. The questions are imported.",
    )
    assert "in its title" in left["assistant_test_evaluations"][1]


async def test_users_of_lists_whom_lamb_could_not_create_are_disabled_users(here: Here) -> None:
    dry = await here.run(dry_run=True)
    report = await here.run()
    for each in (dry, report):
        assert each.counts["bulk_import_logs"] == (3, 2, 0, 1)
        assert each.notes("bulk_import_logs", 1).endswith("new@example.org.")
        assert "cannot be read" in each.error("bulk_import_logs", 3)
    assert await here.users() == {
        ANA: ("creator", False),
        BO: ("creator", False),
        "new@example.org": ("member", True),
    }
