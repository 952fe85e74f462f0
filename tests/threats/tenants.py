"""Two organisations in one Heddle, with an owner, a colleague and a stranger."""

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import grpc
import httpx
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import role_of
from heddle_runtime.rpc.client import channel
from integration.browser import browser
from integration.processes import processes
from integration.whole import whole
from pydantic import SecretStr

Form = Literal["local", "grpc", "processes"]
SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
OWNER = Identity("ann@uni.example", "uni", ("creator",))
COLLEAGUE = Identity("ben@uni.example", "uni", ("creator",))
MEMBER = Identity("mia@uni.example", "uni")
STRANGER = Identity("eve@school.example", "school", ("creator",))
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
                id=f"tool{number}",
                tool=tool["type"],
                config=to_struct(tool["config"]),
                mode=tool.get("mode", assistant_pb2.MODE_UNSPECIFIED),
            )
            for number, tool in enumerate(tools)
        ]
        model = assistant_pb2.ModelRef(connector="bypass", model="full-conversation-bypass")
        members = {"model": model} | more
        assistant = assistant_pb2.Assistant(
            name=name, owner=owner.subject, tools=bindings, **members
        )
        request = assistant_pb2.CreateAssistantRequest(assistant=assistant, published=published)
        response = await self.assistants.CreateAssistant(request, **called_by(OPERATOR))
        return str(response.assistant.id)

    async def ask(
        self,
        person: Identity,
        assistant: str,
        *,
        stream: bool = False,
        question: str = "What is a shed?",
    ) -> httpx.Response:
        """Ask an assistant a question."""
        body = {
            "model": f"lamb_assistant.{assistant}",
            "messages": [{"role": "user", "content": question}],
            "stream": stream,
        }
        return await self.request(person, "POST", "/v1/chat/completions", json=body)


def called_by(person: Identity) -> Any:
    """Make the next call one of a person, whose token the channel adds."""
    CALLER.set(Caller("", person))
    return {"timeout": 20}


@asynccontextmanager
async def tenants(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    form: Form = "grpc",
    settings: Mapping[str, Any] | None = None,
) -> AsyncGenerator[Tenants]:
    """Serve all of Heddle to people of two organisations, which have some settings."""
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    secret = SecretStr(SECRET)
    async with (
        _running(folder, form) as heddle,
        channel(heddle.assistants, secret=secret) as to_accounts,
        channel(heddle.orchestrator, secret=secret) as to_orchestrator,
        browser(heddle.url, timeout=30) as client,
    ):
        accounts: Any = account_pb2_grpc.AccountServiceStub(to_accounts)
        for slug in ("uni", "school"):
            organization = account_pb2.Organization(
                slug=slug, settings_json=json.dumps(settings or {})
            )
            request = account_pb2.PutOrganizationRequest(organization=organization)
            await accounts.PutOrganization(request, **called_by(OPERATOR))
        keys = {person: await _key(accounts, person) for person in (*PEOPLE, MEMBER)}
        assistants = assistant_pb2_grpc.AssistantServiceStub(to_accounts)
        yield Tenants(client, keys, assistants, to_orchestrator, heddle.assistants)


class _Heddle(NamedTuple):
    """Where a running Heddle is reached."""

    url: str
    assistants: str
    orchestrator: str


@asynccontextmanager
async def _running(folder: Path, form: Form) -> AsyncGenerator[_Heddle]:
    """Run Heddle in this process, over the in-process channel or gRPC, or a process per service."""
    if form != "processes":
        async with whole(folder, form) as heddle:
            yield _Heddle(heddle.url, heddle.stack.assistants, heddle.stack.orchestrator)
        return
    names = ("plugins", "files", "rubrics", "workspaces")
    variables = ("PLUGINS_DIR", "FILES_DIR", "RUBRICS_DIR", "WORKSPACE_DIR")
    folders = {
        f"HEDDLE_TOOLS_{variable}": str(folder / name)
        for variable, name in zip(variables, names, strict=True)
    }
    async with processes(folder, **folders) as running:
        at = (running.address("heddle_assistants"), running.address("heddle_orchestrator"))
        yield _Heddle(running.url, *at)


async def _key(accounts: Any, person: Identity) -> str:
    user = account_pb2.PutUserRequest(
        email=person.subject, organization=person.organization, role=role_of(person)
    )
    await accounts.PutUser(user, **called_by(OPERATOR))
    key = account_pb2.Key(name="test", organization=person.organization, user=person.subject)
    request = account_pb2.CreateKeyRequest(key=key)
    return str((await accounts.CreateKey(request, **called_by(OPERATOR))).secret)
