"""The test of a provider's settings: eight ways to fail, each with its cause and remedy."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.routing import settings_check
from heddle_runtime.errors import HeddleError, InvalidRequestError, NotFoundError, from_rpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from runtime.accounts import SECRET

from connector.provider import Exchange, Provider, provider
from connector.service import Stub, nobodys_accounts, service
from connector.tls import Authority

KEY = "sk-right-0123456789abcdef"
MODELS = json.dumps({"data": [{"id": "big", "name": "Big"}, {"id": "small"}]})
PAGE = "<!doctype html><html><body>Welcome</body></html>"


async def script(exchange: Exchange) -> None:
    """Answer as a provider with a list of models at /v1, one without models, and one that hangs."""
    match exchange.path:
        case "/silent/models":
            await exchange.gone()
        case "/empty/models":
            await exchange.reply(200, '{"data": []}')
        case "/page/models" | "/page/v1/models":
            await exchange.reply(200, PAGE)
        case "/broken/models":
            await exchange.reply(503, '{"error": {"message": "Too busy."}}')
        case "/v1/models" if exchange.headers.get("authorization") != f"Bearer {KEY}":
            await exchange.reply(401, '{"error": {"message": "Incorrect API key."}}')
        case "/v1/models":
            await exchange.reply(200, MODELS)
        case _:
            await exchange.reply(404, PAGE)


@asynccontextmanager
async def bench(**settings: Any) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service for the operator and the organisation `uni`, beside a provider."""
    accounts = nobodys_accounts()
    async with provider(script) as server:
        stored = Settings(base_url=f"{server.url}/v1", api_key=KEY, enabled=True)
        accounts.add("default", system=True)
        accounts.add("uni", providers={"openai": stored})
        async with service(accounts, **settings) as stub:
            yield stub, server


async def check(stub: Stub, organization: str = "default", **fields: Any) -> Any:
    request = pb.CheckProviderRequest(
        **{"connector": "openai", "organization": organization, **fields}
    )
    return await stub.CheckProvider(request, **new_call_options(20))


async def refusal(stub: Stub, **fields: Any) -> HeddleError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await check(stub, **fields)
    return from_rpc(caught.value)


async def test_right_settings_show_the_models() -> None:
    async with bench() as (stub, server):
        response = await check(stub, base_url=f"{server.url}/v1/", api_key=f" {KEY} ")
        assert [(each.id, each.title) for each in response.models] == [
            ("big", "Big"),
            ("small", "small"),
        ]
        assert (response.HasField("problem"), response.message) == (False, "")
        assert response.base_url == f"{server.url}/v1"


FAILURES = {
    "wrong address": ("http://127.0.0.1:9/v1", KEY, "address", "No server answers at", ""),
    "wrong key": ("{url}/v1", "sk-wrong", "key", "Copy the whole key again", ""),
    "https for http": ("{tls}/v1", KEY, "scheme", "Change it to", "{url}/v1"),
    "no /v1": ("{url}", KEY, "path", "Change the address", "{url}/v1"),
    "a route": ("{url}/v1/chat/completions", KEY, "path", "Change the address", "{url}/v1"),
    "another path": ("{url}/elsewhere", KEY, "path", "Check the end of the address", ""),
    "no models": ("{url}/empty", KEY, "no_models", "Load a model there", ""),
    "timeout": ("{url}/silent", KEY, "timeout", "did not answer within 0.5 s", ""),
    "HTML": ("{url}/page", KEY, "web_page", "a web page", ""),
    "no key": ("", "", "key_missing", "Enter the key", ""),
    "provider fails": ("{url}/broken", KEY, "refused", "Try again later", ""),
    "no host": ("http://nowhere.invalid/v1", KEY, "address", "Check the name", ""),
}


WAITING = ("timeout", "https for http")


@pytest.mark.parametrize("case", FAILURES)
async def test_each_failure_names_its_cause_and_remedy(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, key, problem, remedy, suggestion = FAILURES[case]
    monkeypatch.setattr(settings_check, "SECONDS", 0.5 if case in WAITING else 5.0)
    async with bench() as (stub, server):
        urls = {"url": server.url, "tls": server.url.replace("http:", "https:")}
        candidate = {"base_url": address.format(**urls), "api_key": key}
        if not address:
            monkeypatch.delenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", raising=False)
        response = await check(stub, **candidate)
    assert not response.models
    expected = f"PROVIDER_PROBLEM_{problem.upper()}"
    assert pb.ProviderProblem.Name(response.problem) == expected, response.message
    assert remedy in response.message
    assert response.suggested_url == suggestion.format(**urls)
    assert KEY not in str(response)


async def test_the_providers_own_words_are_shown() -> None:
    async with bench() as (stub, server):
        response = await check(stub, base_url=f"{server.url}/v1", api_key="sk-wrong")
    assert response.provider_message == "Incorrect API key."


async def test_http_for_https_is_told_and_the_key_stays_here(authority: Authority) -> None:
    async with bench() as (stub, _), provider(script, authority.server_context()) as secure:
        response = await check(
            stub, base_url=f"{secure.url.replace('https:', 'http:')}/v1", api_key=KEY
        )
        assert response.problem == pb.PROVIDER_PROBLEM_SCHEME, response.message
        assert response.suggested_url == f"{secure.url}/v1"
        untrusted = await check(stub, base_url=f"{secure.url}/v1", api_key=KEY)
        assert untrusted.problem == pb.PROVIDER_PROBLEM_CERTIFICATE
        assert not secure.exchanges


async def test_https_is_never_replaced_by_http_with_the_key() -> None:
    async with bench() as (stub, server):
        await check(stub, base_url=f"{server.url.replace('http:', 'https:')}/v1", api_key=KEY)
        assert all("authorization" not in each.headers for each in server.exchanges)


async def test_an_organisation_reaches_no_private_network() -> None:
    async with bench(**{SETTING: ""}) as (stub, server):
        response = await check(stub, "uni", base_url=f"{server.url}/v1", api_key=KEY)
        assert response.problem == pb.PROVIDER_PROBLEM_PRIVATE_ADDRESS
        assert "ask the operator to allow this network" in response.message
        assert server.connections == 0


async def test_the_stored_key_is_sent_to_its_own_server_only() -> None:
    async with bench() as (stub, server), provider(script) as other:
        stored = await check(stub, "uni", base_url=f"{server.url}/v1", api_key="********")
        assert [each.id for each in stored.models] == ["big", "small"]
        current = await check(stub, "uni")
        assert [each.id for each in current.models] == ["big", "small"]
        error = await refusal(
            stub, organization="uni", base_url=f"{other.url}/v1", api_key="********"
        )
        assert isinstance(error, InvalidRequestError)
        assert [each.field for each in error.violations] == ["api_key"]
        assert not other.exchanges


@pytest.mark.parametrize("address", ["ftp://models.example.org", "models", "http://u:p@a.example"])
async def test_what_is_no_address_is_refused(address: str) -> None:
    async with bench() as (stub, _):
        error = await refusal(stub, base_url=address)
    assert isinstance(error, InvalidRequestError)
    assert [each.field for each in error.violations] == ["base_url"]


@pytest.mark.parametrize(
    ("identity", "organization"),
    [
        (Identity("ann", "uni", ("creator",)), "uni"),
        (Identity("eve", "evil", ("organization_admin",)), "uni"),
        (Identity("root", scopes=("admin",)), "nowhere"),
    ],
)
async def test_only_administrators_of_the_organisation_test_its_provider(
    identity: Identity, organization: str
) -> None:
    async with bench(HEDDLE_IDENTITY_SECRET=SECRET) as (stub, server):
        with calling_as(Caller("", identity)):
            error = await refusal(stub, organization=organization, base_url=f"{server.url}/v1")
        assert isinstance(error, NotFoundError)
        assert not server.exchanges


async def test_the_environment_of_the_operator_is_tested_without_settings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with provider(script) as server:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", KEY)
        async with bench() as (stub, _):
            response = await check(stub)
            assert [each.id for each in response.models] == ["big", "small"]
