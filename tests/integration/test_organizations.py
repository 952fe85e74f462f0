"""Two organisations in one Heddle: keys, assistants, and who pays for an answer."""

import json
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from heddle.account.v1 import account_pb2, account_pb2_grpc
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.calls import AUTHORIZATION
from heddle_runtime.identity import Identity, TokenSigner
from integration.provider import Provider, providing
from integration.whole import Transport, whole

SECRET = "a-secret-of-at-least-32-characters"
OPERATOR = Identity("operator", scopes=("admin",))
SLUGS = ("uni", "school")


class Operator:
    """Sets organisations up over gRPC."""

    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._accounts = account_pb2_grpc.AccountServiceStub(channel)
        self._assistants = assistant_pb2_grpc.AssistantServiceStub(channel)

    async def organization(self, slug: str, provider: Provider) -> str:
        """Make an organisation with a provider and a user; return a key of the user."""
        openai = {"base_url": provider.url, "api_key": f"sk-{slug}", "models": ["m"]}
        settings = json.dumps({"setups": {"default": {"providers": {"openai": openai}}}})
        made = account_pb2.Organization(slug=slug, settings_json=settings)
        request = account_pb2.PutOrganizationRequest(organization=made)
        await self._accounts.PutOrganization(request, **signed())
        email = f"ann@{slug}.example"
        user = account_pb2.PutUserRequest(email=email, organization=slug)
        await self._accounts.PutUser(user, **signed())
        key = account_pb2.Key(name="test", organization=slug, user=email)
        response = await self._accounts.CreateKey(account_pb2.CreateKeyRequest(key=key), **signed())
        return response.secret

    async def assistant(self, slug: str) -> str:
        """Make an assistant of the organisation's user that is not published; return its id."""
        made = assistant_pb2.Assistant(
            name="tutor",
            owner=f"ann@{slug}.example",
            model=assistant_pb2.ModelRef(connector="openai", model="m"),
        )
        request = assistant_pb2.CreateAssistantRequest(assistant=made)
        return (await self._assistants.CreateAssistant(request, **signed())).assistant.id


def signed() -> Any:
    token = TokenSigner(SECRET).token(OPERATOR)
    return {"timeout": 20, "metadata": ((AUTHORIZATION, f"Bearer {token}"),)}


@pytest.mark.parametrize("transport", ["grpc", "local"])
async def test_each_organisation_answers_with_its_own_key_and_none_with_anothers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transport: Transport
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    async with AsyncExitStack() as exits:
        enter = exits.enter_async_context
        providers = {slug: await enter(providing()) for slug in SLUGS}
        heddle = await enter(whole(tmp_path, transport))
        channel = await enter(grpc.aio.insecure_channel(heddle.stack.migration))
        client = await enter(httpx.AsyncClient(base_url=heddle.url, trust_env=False, timeout=30))
        operator = Operator(channel)
        keys = {slug: await operator.organization(slug, providers[slug]) for slug in SLUGS}
        assistants = {slug: await operator.assistant(slug) for slug in SLUGS}

        async def ask(key: str, assistant: str) -> int:
            asked = {
                "model": f"lamb_assistant.{assistant}",
                "messages": [{"role": "user", "content": "?"}],
            }
            headers = {"authorization": f"Bearer {key}"}
            response = await client.post("/v1/chat/completions", json=asked, headers=headers)
            return response.status_code

        statuses = {
            (who, whose): await ask(keys[who], assistants[whose])
            for who in SLUGS
            for whose in SLUGS
        }

    assert statuses == {
        ("uni", "uni"): 200,
        ("school", "school"): 200,
        ("uni", "school"): 404,
        ("school", "uni"): 404,
    }
    assert [len(providers[slug].bodies) for slug in SLUGS] == [1, 1]
