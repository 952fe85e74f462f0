"""Two organisations in one Heddle: keys, assistants, models, and who pays for an answer."""

import json
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from gateway.tasks import METADATA, TITLE
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel as connected
from integration.browser import browser
from integration.provider import Provider, providing
from integration.whole import Transport, whole
from pydantic import SecretStr

SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
SLUGS = ("uni", "school")


class Operator:
    """Sets organisations up over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._accounts = account_pb2_grpc.AccountServiceStub(channel)
        self._assistants = assistant_pb2_grpc.AssistantServiceStub(channel)

    async def organization(self, slug: str, provider: Provider, **setup: Any) -> str:
        """Make an organisation with a provider and a user; return a key of the user."""
        openai = {"base_url": provider.url, "api_key": f"sk-{slug}"}
        settings = {"setups": {"default": {"providers": {"openai": openai}, **setup}}}
        made = account_pb2.Organization(slug=slug, settings_json=json.dumps(settings))
        request = account_pb2.PutOrganizationRequest(
            organization=made, allow_failing_providers=True
        )
        await self._accounts.PutOrganization(request, **signed())
        return await self.key(slug, f"ann@{slug}.example")

    async def key(self, slug: str, email: str) -> str:
        """Make a user of an organisation; return a key of his."""
        user = account_pb2.PutUserRequest(email=email, organization=slug, role="creator")
        await self._accounts.PutUser(user, **signed())
        key = account_pb2.Key(name="test", organization=slug, user=email)
        response = await self._accounts.CreateKey(account_pb2.CreateKeyRequest(key=key), **signed())
        return response.secret

    async def assistant(self, slug: str, **members: Any) -> str:
        """Make an assistant of the organisation's user that is not published; return its id."""
        made = assistant_pb2.Assistant(
            name="tutor",
            owner=f"ann@{slug}.example",
            model=assistant_pb2.ModelRef(connector="openai", model="m"),
            **members,
        )
        request = assistant_pb2.CreateAssistantRequest(assistant=made)
        return (await self._assistants.CreateAssistant(request, **signed())).assistant.id


def signed() -> Any:
    """Make the next call one of a caller, whose token the channel adds."""
    CALLER.set(Caller("", OPERATOR))
    return {"timeout": 20}


@dataclass(frozen=True)
class Town:
    """Heddle, and the providers of its organisations."""

    client: httpx.AsyncClient
    operator: Operator
    providers: dict[str, Provider]

    async def ask(self, assistant: str, key: str = "", **body: Any) -> httpx.Response:
        """Ask an assistant something, as the operator unless there is a key."""
        asked = {
            "messages": [{"role": "user", "content": "?"}],
            **body,
            "model": f"lamb_assistant.{assistant}",
        }
        return await self.client.post("/v1/chat/completions", json=asked, headers=bearer(key))


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"} if key else {}


@asynccontextmanager
async def town(
    folder: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> AsyncGenerator[Town]:
    """Yield a Heddle without organisations, and a provider for each there will be."""
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    monkeypatch.setenv(SETTING, "127.0.0.0/8")
    async with AsyncExitStack() as exits:
        enter = exits.enter_async_context
        providers = {slug: await enter(providing()) for slug in SLUGS}
        heddle = await enter(whole(folder, transport))
        channel = await enter(connected(heddle.stack.assistants, secret=SecretStr(SECRET)))
        client = await enter(browser(heddle.url, timeout=30))
        yield Town(client, Operator(channel), providers)


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_each_organisation_answers_with_its_own_key_and_none_with_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with town(tmp_path, monkeypatch, transport) as here:
        operator, providers = here.operator, here.providers
        keys = {slug: await operator.organization(slug, providers[slug]) for slug in SLUGS}
        assistants = {slug: await operator.assistant(slug) for slug in SLUGS}
        statuses = {
            (who, whose): (await here.ask(assistants[whose], keys[who])).status_code
            for who in SLUGS
            for whose in SLUGS
        }

    assert statuses == {
        ("uni", "uni"): 200,
        ("school", "school"): 200,
        ("uni", "school"): 404,
        ("school", "uni"): 404,
    }
    assert {slug: providers[slug].keys for slug in SLUGS} == {
        "uni": ["Bearer sk-uni"],
        "school": ["Bearer sk-school"],
    }


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_lists_show_each_organisation_what_its_own_provider_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with town(tmp_path, monkeypatch, transport) as here:
        here.providers["uni"].models = ("gpt-uni", "gpt-both")
        here.providers["school"].models = ("gpt-school", "gpt-both")
        keys = {
            slug: await here.operator.organization(slug, here.providers[slug]) for slug in SLUGS
        }
        listed = {}
        for slug in SLUGS:
            response = await here.client.get(
                "/lamb/v1/completions/list", headers=bearer(keys[slug])
            )
            listed[slug] = response.json()["connectors"]["openai"]

    assert listed == {
        slug: {
            "name": "openai",
            "available_llms": ["gpt-both", f"gpt-{slug}"],
            "models": [{"id": name, "name": name} for name in ("gpt-both", f"gpt-{slug}")],
            "calls_functions": True,
        }
        for slug in SLUGS
    }
    assert {slug: set(here.providers[slug].keys) for slug in SLUGS} == {
        slug: {f"Bearer sk-{slug}"} for slug in SLUGS
    }


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_a_title_is_written_by_the_small_model_of_who_owns_the_assistant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport, *, stream: bool
) -> None:
    async with town(tmp_path, monkeypatch, transport) as here:
        uni = here.providers["uni"]
        small = {"provider": "openai", "model": "tiny"}
        key = await here.operator.organization("uni", uni, small_fast_model=small)
        number = await here.operator.assistant(
            "uni",
            system_prompt="Be kind.",
            prompt_template="Words: {word_count} {user_input}",
            tools=[assistant_pb2.ToolBinding(tool="word_count")],
        )
        for asker in (key, ""):  # the operator's Open WebUI asks with the operator's key
            answered = await here.ask(
                number, asker, **{**TITLE, "metadata": METADATA, "stream": stream}
            )
            assert answered.status_code == 200, answered.text
        asked = [(body["model"], body["messages"], "tools" in body) for body in uni.bodies]
        assert asked == [("tiny", TITLE["messages"], False)] * 2
        assert uni.keys == ["Bearer sk-uni"] * 2

        assert (await here.ask(number, key)).status_code == 200
        assert uni.bodies[-1]["model"] == "m"
        assert uni.bodies[-1]["messages"][-1]["content"].startswith("Words: ")


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_the_default_model_answers_where_the_assistants_is_gone_and_people_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    async with town(tmp_path, monkeypatch, transport) as here:
        uni = here.providers["uni"]
        uni.missing = ("m",)
        default = {"provider": "openai", "model": "spare"}
        key = await here.operator.organization("uni", uni, global_default_model=default)
        number = await here.operator.assistant("uni")
        whole_answer = await here.ask(number, key)
        streamed = await here.ask(number, key, stream=True)
        uni.missing = ("m", "spare")
        failed = await here.ask(number, key, stream=True)

    told = "openai/m is not available, openai/spare answers"
    assert whole_answer.status_code == 200
    assert whole_answer.headers["x-heddle-warning"] == told
    assert told in streamed.text
    assert streamed.text.index(told) < streamed.text.index('"content":"0 ')
    assert failed.json()["error"]["message"] == "There is no such model."
    assert [body["model"] for body in uni.bodies] == ["m", "spare"] * 3
