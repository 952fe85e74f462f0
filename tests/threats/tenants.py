"""Two organisations in one Heddle, with an owner, a colleague and a stranger."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.call_metadata import CALLER, Caller
from heddle_runtime.client import channel
from heddle_runtime.identity import Identity
from heddle_runtime.struct_codec import to_struct
from integration.browser import browser
from integration.whole import whole
from pydantic import SecretStr

SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
OWNER = Identity("ann@uni.example", "uni")
COLLEAGUE = Identity("ben@uni.example", "uni")
STRANGER = Identity("eve@school.example", "school")
PEOPLE = (OWNER, COLLEAGUE, STRANGER)


@dataclass(frozen=True)
class Tenants:
    """A running Heddle, and the key of each person."""

    client: httpx.AsyncClient
    keys: dict[Identity, str]
    assistants: Any
    orchestrator: grpc.aio.Channel
    assistants_address: str

    async def request(
        self, person: Identity, method: str, path: str, **body: Any
    ) -> httpx.Response:
        """Send a request with the key of a person."""
        headers = {"authorization": f"Bearer {self.keys[person]}"}
        return await self.client.request(method, path, headers=headers, **body)

    async def create(self, person: Identity, path: str, **body: Any) -> str:
        """Create a thing of a person, and return its identifier."""
        response = await self.request(person, "POST", path, **body)
        assert response.status_code in (200, 201), response.text
        return str(response.json()["id"])

    async def assistant(
        self,
        owner: Identity,
        name: str,
        *tools: dict[str, Any],
        published: bool = False,
        **more: Any,
    ) -> str:
        """Create an assistant whose model answers with its prompt; return its identifier."""
        bindings = [
            assistant_pb2.ToolBinding(
                id=f"tool{number}", tool=tool["type"], config=to_struct(tool["config"])
            )
            for number, tool in enumerate(tools)
        ]
        model = assistant_pb2.ModelRef(connector="bypass", model="full-conversation-bypass")
        assistant = assistant_pb2.Assistant(
            name=name, owner=owner.subject, model=model, tools=bindings, **more
        )
        request = assistant_pb2.CreateAssistantRequest(assistant=assistant, published=published)
        response = await self.assistants.CreateAssistant(request, **called_by(OPERATOR))
        return str(response.assistant.id)

    async def ask(
        self, person: Identity, assistant: str, *, stream: bool = False
    ) -> httpx.Response:
        """Ask an assistant a question."""
        body = {
            "model": f"lamb_assistant.{assistant}",
            "messages": [{"role": "user", "content": "What is a shed?"}],
            "stream": stream,
        }
        return await self.request(person, "POST", "/v1/chat/completions", json=body)


def called_by(person: Identity) -> Any:
    """Make the next call one of a person, whose token the channel adds."""
    CALLER.set(Caller("", person))
    return {"timeout": 20}


@asynccontextmanager
async def tenants(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Tenants]:
    """Serve all of Heddle to people of two organisations."""
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    secret = SecretStr(SECRET)
    async with (
        whole(folder) as heddle,
        channel(heddle.stack.assistants, secret=secret) as to_accounts,
        channel(heddle.stack.orchestrator, secret=secret) as to_orchestrator,
        browser(heddle.url, timeout=30) as client,
    ):
        accounts: Any = account_pb2_grpc.AccountServiceStub(to_accounts)
        for slug in ("uni", "school"):
            organization = account_pb2.Organization(slug=slug, settings_json=json.dumps({}))
            request = account_pb2.PutOrganizationRequest(organization=organization)
            await accounts.PutOrganization(request, **called_by(OPERATOR))
        keys = {person: await _key(accounts, person) for person in PEOPLE}
        assistants = assistant_pb2_grpc.AssistantServiceStub(to_accounts)
        yield Tenants(client, keys, assistants, to_orchestrator, heddle.stack.assistants)


async def _key(accounts: Any, person: Identity) -> str:
    user = account_pb2.PutUserRequest(email=person.subject, organization=person.organization)
    await accounts.PutUser(user, **called_by(OPERATOR))
    key = account_pb2.Key(name="test", organization=person.organization, user=person.subject)
    request = account_pb2.CreateKeyRequest(key=key)
    return str((await accounts.CreateKey(request, **called_by(OPERATOR))).secret)
