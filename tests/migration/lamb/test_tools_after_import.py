"""What the tools of imported assistants find: their owners' files, rubrics and collections."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1.jobs_pb2 import JOB_KIND_IMPORT
from heddle.migration.v1 import migration_pb2, migration_pb2_grpc
from heddle_assistants.database.schema import assistants
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from heddle_runtime.storage.database.engine import open_database
from integration.browser import browser
from integration.provider import Provider, providing
from integration.whole import whole
from knowledge.kb_server import KnowledgeBaseServer, hit, kb_server
from migration.lamb.lamb_database import GOLDEN, Lamb
from migration.lamb.running import rows
from pydantic import SecretStr

SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
RUBRIC = "rubric-550e8400-e29b-41d4-a716-446655440000"
PUBLIC = "rubric-public-550e8400"
OWNERS = {"ana": (1, 7), "bo": (2, 7), "cy": (3, 8)}
"""By name, the number and the organisation in LAMB."""
REFUSED = {
    "file": "Invalid file path",
    "rubric": "not found or not accessible",
    "collection": "the knowledge-base server has no such collection (404)",
}


@dataclass
class Heddle:
    """A running Heddle with what LAMB had, and who answers and searches for it."""

    client: httpx.AsyncClient
    provider: Provider
    knowledge: KnowledgeBaseServer
    assistants: dict[str, dict[str, int]]
    """Ids by what the assistant uses and who owns it."""

    async def prompt(self, use: str, owner: str) -> str:
        """Return what the model is told when somebody asks an assistant."""
        identifier = self.assistants[use][owner]
        said = [{"role": "user", "content": "What do you know?"}]
        body = {"model": f"lamb_assistant.{identifier}", "messages": said}
        response = await self.client.post("/v1/chat/completions", json=body)
        assert response.status_code == 200, response.text
        return json.dumps(self.provider.bodies[-1]["messages"])


def golden(name: str) -> dict[str, Any]:
    """Return a legacy row as LAMB keeps it."""
    row: dict[str, Any] = json.loads((GOLDEN / f"{name}.legacy.json").read_text())
    row["api_callback"] = json.dumps(row["api_callback"])
    del row["id"], row["name"], row["owner"], row["organization_id"]
    return row


def fill(lamb: Lamb, provider: Provider, knowledge: KnowledgeBaseServer) -> dict[str, Any]:
    """Give everybody an assistant for each use, and return their ids."""
    openai = {"base_url": provider.url, "api_key": "sk-test", "models": ["gpt-4o-mini"]}
    config = json.dumps(
        {
            "setups": {"default": {"providers": {"openai": openai}}},
            "kb_server": {"url": knowledge.url, "token": "kb-token"},
        }
    )
    lamb.add(
        "organizations",
        *({"id": number, "slug": f"org-{number}", "config": config} for number in (7, 8)),
    )
    file, rubric, search, context_aware, hierarchical, functions = (
        golden(name)
        for name in (
            *("07_single_file", "05_rubric", "02_simple_rag", "02_context_aware_rag"),
            *("02_hierarchical_rag", "11_functions_and_rag"),
        )
    )
    uses = {
        "file": file,
        "rubric": rubric,
        "public rubric": rubric | {"api_callback": rubric["api_callback"].replace(RUBRIC, PUBLIC)},
        "collection": search | {"RAG_collections": "17"},
        "shared collection": search | {"RAG_collections": "18"},
        "unknown collection": search | {"RAG_collections": "19"},
        "context-aware collection": context_aware | {"RAG_collections": "17"},
        "hierarchical collection": hierarchical | {"RAG_collections": "17"},
        "functions and a collection": functions | {"RAG_collections": "17"},
    }
    ids: dict[str, Any] = {}
    for owner, (number, organization) in OWNERS.items():
        email, home = f"{owner}@example.org", {"organization_id": organization}
        lamb.add("Creator_users", {"id": number, "user_email": email, **home})
        for place, (use, row) in enumerate(uses.items()):
            identifier = number * 100 + place
            lamb.add(
                "assistants",
                {**row, "id": identifier, "name": f"{number}_{place}", "owner": email, **home},
            )
            ids.setdefault(use, {})[owner] = identifier
    content = json.dumps(
        {"title": "Essay", "criteria": [{"name": "A", "levels": [{"score": 1, "label": "B"}]}]}
    )
    ana = {"owner_email": "ana@example.org", "organization_id": 7, "rubric_data": content}
    lamb.add("rubrics", {"rubric_id": RUBRIC, **ana}, {"rubric_id": PUBLIC, "is_public": 1, **ana})
    registered = {"owner_user_id": 1, "organization_id": 7, "kb_name": "Optics"}
    lamb.add(
        "kb_registry",
        {"kb_id": "17", **registered},
        {"kb_id": "18", "is_shared": 1, **registered},
    )
    return ids


@pytest.fixture
async def heddle(
    tmp_path: Path, database_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Heddle]:
    """Heddle after an import from a LAMB of two organisations."""
    lamb = Lamb(tmp_path / "lamb_v4.db").make()
    for name, value in {
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
        "HEDDLE_MIGRATION_LAMB_DATABASE": str(lamb.path),
        SETTING: "127.0.0.0/8",
    }.items():
        monkeypatch.setenv(name, value)
    notes = tmp_path / "files" / "1" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("Ana noted it.")
    async with AsyncExitStack() as exits:
        enter = exits.enter_async_context
        provider, knowledge = await enter(providing()), await enter(kb_server())
        found = {str(number): {"results": [hit(f"From {number}.")]} for number in (17, 18, 19)}
        knowledge.answers = found
        ids = fill(lamb, provider, knowledge)
        running = await enter(whole(tmp_path, "grpc", database_url))
        migration = await enter(
            channel(running.stack.optional["migration"], secret=SecretStr(SECRET))
        )
        assistants = await enter(channel(running.stack.assistants, secret=SecretStr(SECRET)))
        key = await imported(migration, assistants)
        client = browser(running.url, key, timeout=30)
        yield Heddle(await enter(client), provider, knowledge, ids)


async def imported(migration: grpc.aio.Channel, assistants: grpc.aio.Channel) -> str:
    """Import everything, and return the key of somebody who may use every assistant."""
    CALLER.set(Caller("", OPERATOR))
    migrations = migration_pb2_grpc.MigrationServiceStub(migration)
    async for response in migrations.RunMigration(
        migration_pb2.RunMigrationRequest(kind=JOB_KIND_IMPORT), timeout=60
    ):
        assert response.progress.refused == 0
    wanted = account_pb2.Key(name="test", organization="org-7", scopes=["admin"])
    request = account_pb2.CreateKeyRequest(key=wanted)
    accounts = account_pb2_grpc.AccountServiceStub(assistants)
    return (await accounts.CreateKey(request, timeout=60)).secret


async def test_imported_assistants_find_what_is_their_owners_and_nothing_else(
    heddle: Heddle,
) -> None:
    found = {
        "file": ("Ana noted it.", {"ana"}),
        "rubric": ("EVALUATION RUBRIC: Essay", {"ana"}),
        "public rubric": ("EVALUATION RUBRIC: Essay", {"ana", "bo"}),
        "collection": ("From 17.", {"ana"}),
        "shared collection": ("From 18.", {"ana", "bo"}),
        "unknown collection": ("From 19.", {"ana", "bo", "cy"}),
        "functions and a collection": ("From 17.", {"ana"}),
    }
    for use, (text, owners) in found.items():
        for owner in OWNERS:
            prompt = await heddle.prompt(use, owner)
            assert (text in prompt) == (owner in owners), (use, owner, prompt)
            if owner not in owners:
                assert REFUSED[use.split()[-1]] in prompt, (use, owner, prompt)
    asked = [path.split("/")[2] for path in heddle.knowledge.paths]
    assert asked == ["17", "18", "18", "19", "19", "19", "17"]
    offered = [tool["function"]["name"] for tool in heddle.provider.bodies[-1]["tools"]]
    assert offered == ["get_weather", "get_moodle_courses"]


async def test_a_completion_converts_the_metadata_of_a_row_and_no_other_column(
    heddle: Heddle, database_url: str
) -> None:
    uses = ("collection", "context-aware collection", "hierarchical collection")
    async with open_database(database_url) as database:
        before = await rows(database, assistants)
        for use in uses:
            assert "From 17." in await heddle.prompt(use, "ana")
        after = await rows(database, assistants)

    query = "/collections/17/query"
    assert heddle.knowledge.paths == [query, query, f"{query}?plugin_name=parent_child_query"]
    for use in uses:
        number = heddle.assistants[use]["ana"]
        metadata = after[number]["metadata"]
        assert "_format_version" not in json.loads(before[number]["metadata"])
        assert json.loads(metadata)["_format_version"] == 2
        assert after[number] == before[number] | {"metadata": metadata, "revision": 2}
