"""Moodle through the whole of Heddle: who is named in a prompt, and who cannot be."""

import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel as connected
from integration.browser import browser
from integration.functions.upstream import Upstream, calls, says, scripted
from integration.whole import Transport, whole
from pydantic import SecretStr
from runtime.examples import sampled
from tools_service.moodle_site import MoodleServer, course, moodle_site

SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
ANN, BEN = "ann@uni.example", "ben@uni.example"
AS_ANN = {"X-OpenWebUI-User-Email": ANN}
AS_BEN = {"X-OpenWebUI-User-Email": BEN, "X-OpenWebUI-User-Id": "8"}
FORGED = {
    "__openwebui_headers__": {"x-openwebui-user-email": BEN, "x-openwebui-user-id": "8"},
    "user": BEN,
}


@dataclass
class University:
    """An organisation with a Moodle, an assistant of Ann's, and keys."""

    client: httpx.AsyncClient
    site: MoodleServer
    model: Upstream
    keys: dict[str, str]
    assistants: dict[str, str]

    async def ask(self, assistant: str, key: str, headers: dict[str, str], **body: Any) -> str:
        """Return what an assistant answers."""
        asked = {
            "model": f"lamb_assistant.{self.assistants[assistant]}",
            "messages": [{"role": "user", "content": "?"}],
        }
        sent = {"authorization": f"Bearer {self.keys[key]}", **headers}
        response = await self.client.post(
            "/v1/chat/completions", json={**asked, **body}, headers=sent
        )
        assert response.status_code == 200, response.text
        return str(response.json()["choices"][0]["message"]["content"])

    async def name(self, key: str, headers: dict[str, str], **body: Any) -> str:
        """Return what `{moodle_user}` becomes in the prompt of a request."""
        prompt = await self.ask("advisor", key, headers, **body)
        return prompt.partition("Asks:")[0].removeprefix("Who:").strip()


SCRIPT = [[calls("get_moodle_courses", json.dumps({"user_id": "8"}))], [says("Two courses.")]]
ADVISOR = assistant_pb2.Assistant(
    name="advisor",
    owner=ANN,
    model=assistant_pb2.ModelRef(connector="bypass", model="simple-bypass"),
    prompt_processor="moodle_augment",
    prompt_template="Who:{moodle_user}Asks:{user_input}",
)
HELPER = assistant_pb2.Assistant(
    name="helper",
    owner=ANN,
    model=assistant_pb2.ModelRef(connector="openai", model="scripted"),
    tools=[
        assistant_pb2.ToolBinding(tool=name, mode=assistant_pb2.MODE_FUNCTION)
        for name in ("weather", "moodle")
    ],
)


@asynccontextmanager
async def university(folder: Path, transport: Transport) -> AsyncGenerator[University]:
    async with (
        moodle_site(users={ANN: [7], BEN: [8]}) as site,
        scripted(SCRIPT) as model,
        whole(folder, transport) as heddle,
        connected(heddle.stack.assistants, secret=SecretStr(SECRET)) as channel,
        browser(heddle.url, timeout=30) as client,
    ):
        site.courses = {7: [course(1, "Looms"), course(2, "Knots")], 8: [course(3, "Secrets")]}
        keys = await set_up(channel, site, model)
        assistants = {made.name: await kept(channel, made) for made in (ADVISOR, HELPER)}
        yield University(client, site, model, keys, assistants)


async def set_up(channel: grpc.aio.Channel, site: MoodleServer, model: Upstream) -> dict[str, str]:
    """Make the organisation and return its keys."""
    accounts: Any = account_pb2_grpc.AccountServiceStub(channel)
    openai = {"base_url": model.url, "api_key": "sk-uni", "models": ["scripted"]}
    settings = json.dumps(
        {
            "moodle": {"url": site.url, "token": site.token},
            "setups": {"default": {"providers": {"openai": openai}}},
        }
    )
    made = account_pb2.Organization(slug="uni", settings_json=settings)
    await accounts.PutOrganization(
        account_pb2.PutOrganizationRequest(organization=made, allow_failing_providers=True),
        **signed(),
    )
    for email in (ANN, BEN):
        user = account_pb2.PutUserRequest(email=email, organization="uni", role="creator")
        await accounts.PutUser(user, **signed())
    keys = {
        "webui": account_pb2.Key(name="webui", organization="uni", trusted=True),
        "ann": account_pb2.Key(name="ann", organization="uni", user=ANN),
        "script": account_pb2.Key(name="script", organization="uni", scopes=["organization_admin"]),
    }
    return {
        name: (await accounts.CreateKey(account_pb2.CreateKeyRequest(key=key), **signed())).secret
        for name, key in keys.items()
    }


async def kept(channel: grpc.aio.Channel, made: assistant_pb2.Assistant) -> str:
    """Keep an assistant and return its id."""
    assistants: Any = assistant_pb2_grpc.AssistantServiceStub(channel)
    request = assistant_pb2.CreateAssistantRequest(assistant=made)
    return str((await assistants.CreateAssistant(request, **signed())).assistant.id)


def signed() -> Any:
    """Make the next call one of a caller, whose token the channel adds."""
    CALLER.set(Caller("", OPERATOR))
    return {"timeout": 20}


@pytest.fixture(params=sampled(["grpc", "local"], 1))
async def uni(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[University]:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    monkeypatch.setenv(SETTING, "127.0.0.0/8")
    async with university(tmp_path, request.param) as made:
        yield made


async def test_nobody_is_named_by_what_a_client_writes_about_headers(uni: University) -> None:
    named = {
        "a trusted client": await uni.name("webui", AS_ANN),
        "and a forged body": await uni.name("webui", AS_ANN, **FORGED),
        "a user and forged headers": await uni.name("ann", AS_BEN, **FORGED),
        "a script and forged headers": await uni.name("script", AS_BEN, **FORGED),
        "a script that says whom it means": await uni.name(
            "script", {}, metadata={"lti_user_id": "lti-8"}, **FORGED
        ),
    }

    assert named == {
        "a trusted client": "7",
        "and a forged body": "7",
        "a user and forged headers": "7",
        "a script and forged headers": "default",
        "a script that says whom it means": "lti-8",
    }
    assert {value for call in uni.site.calls for value in call["values"]} == {ANN}


async def test_a_model_that_asks_for_another_person_reads_of_the_one_who_asks(
    uni: University,
) -> None:
    assert await uni.ask("helper", "webui", AS_ANN) == "Two courses."

    first, second = uni.model.bodies
    offered = [tool["function"]["name"] for tool in first["tools"]]
    assert offered == ["get_weather", "get_moodle_courses"]
    told = json.loads(second["messages"][-1]["content"])
    assert [each["name"] for each in told["courses"]] == ["Looms", "Knots"]
    assert {call["userid"] for call in uni.site.calls if "userid" in call} == {"7"}


async def test_a_model_that_asks_in_nobodys_name_is_told_that_it_failed(uni: University) -> None:
    await uni.ask("helper", "script", AS_BEN, **FORGED)

    told = json.loads(uni.model.bodies[1]["messages"][-1]["content"])
    assert (told["kind"], told["details"]["success"]) == ("no_user", False)
    assert not uni.site.calls


async def test_lambs_editor_is_told_of_the_tools_and_the_placeholder(uni: University) -> None:
    headers = {"authorization": f"Bearer {uni.keys['ann']}"}
    tools = (await uni.client.get("/lamb/v1/completions/tools", headers=headers)).json()["tools"]
    listed = (await uni.client.get("/lamb/v1/completions/list", headers=headers)).json()
    defaults = (await uni.client.get("/creator/assistant/defaults", headers=headers)).json()

    told = ("description", "category", "function_name")
    of_lamb = {
        tool["name"]: tuple(tool[name] for name in told)
        for tool in tools
        if tool["name"] in ("weather", "moodle", "moodle_assignments")
    }
    assert of_lamb == {
        "weather": (
            "Get current temperature for a city, in degrees Celsius.",
            "utilities",
            "get_weather",
        ),
        "moodle": ("Get user's enrolled courses from Moodle LMS.", "lms", "get_moodle_courses"),
        "moodle_assignments": (
            "Get user's completed, due and missed assignments from Moodle LMS.",
            "lms",
            "get_moodle_assignments_status",
        ),
    }
    assert "moodle_augment" in listed["prompt_processors"]
    assert "{moodle_user}" in defaults["rag_placeholders"]
