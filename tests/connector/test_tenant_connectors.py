"""Organisations with providers of their own, before stubs that tell who paid."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle_runtime.errors import (
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
    from_rpc,
)
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.grants import Grant, GrantSigner, carrying
from heddle_runtime.identity.service_credentials import ServiceCredentials
from runtime.accounts import SECRET, Accounts
from structlog.testing import capture_logs

from connector.provider import Exchange, Provider, provider
from connector.service import Stub, as_whole, asked, events, failure, nobodys_accounts, service

OWN, OPERATORS = "sk-own-0123456789abcdef", "sk-operators-0123456789abcdef"
REPLY = json.dumps(
    {
        "model": "m",
        "choices": [{"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1},
    }
)


class Bench:
    """The service, an organisation's provider, and the operator's."""

    def __init__(self, accounts: Accounts, own: Provider, operators: Provider) -> None:
        self.accounts = accounts
        self.own = own
        self.operators = operators
        self.stub: Stub

    async def ask(
        self, model: str = "m", connector: str = "openai", **of: str
    ) -> list[pb.GenerationEvent]:
        return await events(self.stub, self.request(model, connector, **of))

    async def refusal(self, **of: str) -> str:
        error = await failure(self.stub, self.request("m", "openai", **of))
        assert isinstance(error, UnavailableError)
        return error.message

    def request(
        self, model: str, connector: str, organization: str = "", owner: str = ""
    ) -> pb.GenerateWholeMessageRequest:
        ref = ModelRef(connector=connector, model=model)
        assistant = Assistant(id="1", model=ref, organization=organization, owner=owner)
        return as_whole(asked(connector, model, assistant=assistant))

    def paid(self) -> list[str]:
        """Return the keys that came, the organisation's provider first."""
        came = [*self.own.exchanges, *self.operators.exchanges]
        return [exchange.headers.get("authorization", "") for exchange in came]


async def script(exchange: Exchange) -> None:
    await exchange.reply(200, REPLY)


@asynccontextmanager
async def bench(monkeypatch: pytest.MonkeyPatch, **settings: Any) -> AsyncGenerator[Bench]:
    accounts = nobodys_accounts(**{"ann@uni.example": "uni"})
    async with provider(script) as own, provider(script) as operators:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{operators.url}/v1")
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", OPERATORS)
        openai = Settings(base_url=f"{own.url}/v1", api_key=OWN, enabled=True)
        accounts.add("uni", providers={"openai": openai})
        accounts.add("poor")
        accounts.add("default", system=True)
        running = Bench(accounts, own, operators)
        async with service(accounts, **settings) as running.stub:
            yield running


@pytest.mark.parametrize(
    "of", [{"organization": "uni"}, {"owner": "ann@uni.example"}], ids=["organisation", "owner"]
)
async def test_an_organisation_pays_with_its_own_key_at_its_own_address(
    monkeypatch: pytest.MonkeyPatch, of: dict[str, str]
) -> None:
    async with bench(monkeypatch) as here:
        await here.ask(**of)
        assert here.paid() == [f"Bearer {OWN}"]
        assert not here.operators.exchanges


@pytest.mark.parametrize("whole", [False, True])
async def test_a_claimed_owner_pays_only_for_a_run_of_the_own_assistant(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    async with bench(monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        request = here.request("m", "openai", "uni", "ann@uni.example")
        call = request if whole else request.generation
        member, creator = Identity("leo", "poor"), Identity("eve", "poor", ("creator",))
        with calling_as(Caller("", member)):
            assert type(await failure(here.stub, call)) is PermissionDeniedError
            signer = GrantSigner(SECRET)
            grant = signer.sign(Grant("ann@uni.example", "uni"), 60)
            other = signer.sign(Grant("eve", "poor"), 60)
        with calling_as(Caller("", creator)):
            assert type(await failure(here.stub, call)) is UnavailableError  # of her own
            with carrying(grant):
                assert type(await failure(here.stub, call)) is UnauthenticatedError
        assert here.paid() == []
        with calling_as(Caller("", member)):
            with carrying(other):
                assert type(await failure(here.stub, call)) is PermissionDeniedError
            with carrying(grant):
                await events(here.stub, call)
        assert here.paid() == [f"Bearer {OWN}"]


async def test_the_requests_of_an_organisation_share_one_pool(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        for _ in range(3):
            await asyncio.gather(*(here.ask(organization="uni") for _ in range(50)))
        assert here.paid() == [f"Bearer {OWN}"] * 150
        assert here.own.connections <= 50


async def test_an_organisation_without_a_provider_spends_nobodys_money(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        for slug in ("poor", "nowhere"):
            message = await here.refusal(organization=slug)
            assert message.startswith("Your organisation has not set up the provider 'openai'.")
        assert here.paid() == []


async def test_what_an_organisation_leaves_out_is_not_taken_from_the_operator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        keyless = Settings(base_url=f"{here.own.url}/v1", enabled=True)
        here.accounts.add("uni", providers={"openai": keyless})
        await here.ask(organization="uni")
        assert here.paid() == [""]


@pytest.mark.parametrize(
    ("of", "settings"),
    [
        ({}, {}),
        ({"owner": "unknown@elsewhere.example"}, {}),
        ({"organization": "default"}, {}),
        ({"organization": "poor"}, {"share_providers": True}),
    ],
)
async def test_the_operators_key_serves_the_operator_unless_he_shares_it(
    monkeypatch: pytest.MonkeyPatch, of: dict[str, str], settings: dict[str, bool]
) -> None:
    async with bench(monkeypatch, **settings) as here:
        await here.ask(**of)
        assert here.paid() == [f"Bearer {OPERATORS}"]
        assert not here.own.exchanges


@pytest.mark.parametrize("of", [{}, {"owner": "operator"}, {"organization": "default"}])
async def test_settings_of_the_operators_own_organisation_replace_the_environment(
    monkeypatch: pytest.MonkeyPatch, of: dict[str, str]
) -> None:
    async with bench(monkeypatch) as here:
        own = Settings(base_url=f"{here.own.url}/v1", api_key=OWN, models=["own"], enabled=True)
        here.accounts.add("default", system=True, providers={"openai": own})
        options = new_call_options(10)
        listed = await here.stub.ListModels(pb.ListModelsRequest(connector="openai"), **options)
        assert [each.ref.model for each in listed.models] == ["own"]
        installed = await here.stub.ListConnectors(pb.ListConnectorsRequest(), **options)
        [openai] = [each for each in installed.connectors if each.name == "openai"]
        assert (list(openai.models), openai.settings_source) == (
            ["own"],
            pb.SETTINGS_SOURCE_ORGANIZATION,
        )
        await here.ask("own", **of)
        without_assistant = here.request("own", "openai")
        without_assistant.generation.ClearField("assistant")
        await events(here.stub, without_assistant)
        assert here.paid() == [f"Bearer {OWN}"] * 2


@pytest.mark.parametrize("organization", ["uni", "poor"])
async def test_a_connector_without_a_provider_serves_everybody(
    monkeypatch: pytest.MonkeyPatch, organization: str
) -> None:
    async with bench(monkeypatch) as here:
        await here.ask("simple-bypass", "bypass", organization=organization)
        assert not here.accounts.asked


async def test_a_model_that_the_organisation_does_not_offer_is_replaced_and_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        limited = Settings(
            base_url=f"{here.own.url}/v1", api_key=OWN, models=["small", "large"], enabled=True
        )
        here.accounts.add("uni", providers={"openai": limited}, default_model="openai/large")
        with capture_logs() as logs:
            answers = [await here.ask(name, organization="uni") for name in ("gone", "small")]
        sent = [json.loads(exchange.body)["model"] for exchange in here.own.exchanges]
        assert sent == ["large", "small"]
        [line] = [each for each in logs if each["event"] == "model not available"]
        assert (line["requested"], line["replacement"]) == ("gone", "openai/large")
        assert [answer[-1].done.substitute for answer in answers] == ["openai/large", ""]


@pytest.mark.parametrize(
    ("invalid", "part"),
    [
        (Settings(api_key=OWN, base_url="http://uni"), "has not set up"),
        (Settings(api_key=OWN, base_url="ftp://uni", enabled=True), "are not valid."),
        (Settings(api_key=OWN, base_url="http://u:pa55@uni", enabled=True), "are not valid."),
    ],
    ids=["off", "no address", "password"],
)
async def test_settings_of_no_use_are_told_without_their_values(
    monkeypatch: pytest.MonkeyPatch, invalid: Settings, part: str
) -> None:
    async with bench(monkeypatch) as here:
        here.accounts.add("uni", providers={"openai": invalid})
        message = await here.refusal(organization="uni")
        assert part in message
        assert OWN not in message
        assert invalid.base_url not in message
        assert here.paid() == []


async def test_a_list_of_connectors_tells_where_their_settings_come_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        response = await here.stub.ListConnectors(pb.ListConnectorsRequest(), **new_call_options(9))
    sources = {each.name: each.settings_source for each in response.connectors}
    settings = {each.name: list(each.settings) for each in response.connectors}
    usable = {each.name for each in response.connectors if each.usable}
    assert usable == {"bypass", "default", "local", "ollama", "openai"}
    assert sources["openai"] == pb.SETTINGS_SOURCE_ENVIRONMENT
    assert sources["ollama"] == pb.SETTINGS_SOURCE_UNSPECIFIED
    assert settings["openai"] == ["api_key", "base_url", "models"]
    assert settings["local"] == []


@pytest.mark.parametrize(("enabled", "expected"), [(True, {"openai"}), (False, set())])
async def test_services_learn_which_providers_an_organisation_has_set_up(
    monkeypatch: pytest.MonkeyPatch, enabled: bool, expected: set[str]
) -> None:
    request = pb.ListConnectorsRequest(organization="uni")
    async with bench(monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        here.accounts.add("uni", providers={"openai": Settings(api_key=OWN, enabled=enabled)})
        response = await ServiceCredentials("gateway").call(here.stub.ListConnectors, request)
        with (
            calling_as(Caller("", Identity("ann", "uni", ("creator",)))),
            pytest.raises(grpc.aio.AioRpcError) as caught,
        ):
            await here.stub.ListConnectors(request, **new_call_options(9))
    assert {each.name for each in response.connectors if each.usable and each.settings} == expected
    assert isinstance(from_rpc(caught.value), PermissionDeniedError)


@pytest.mark.parametrize(
    ("default", "usable"), [("openai/m", True), ("gone/m", False), ("", False)]
)
async def test_a_chosen_default_model_answers_for_providers_that_are_not_set_up(
    monkeypatch: pytest.MonkeyPatch, default: str, usable: bool
) -> None:
    request = pb.ListConnectorsRequest(organization="uni")
    async with bench(monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        openai = Settings(api_key=OWN, enabled=True)
        here.accounts.add("uni", providers={"openai": openai}, default_model=default)
        response = await ServiceCredentials("gateway").call(here.stub.ListConnectors, request)
    assert {each.name: each.usable for each in response.connectors}["anthropic"] == usable


async def test_settings_that_cannot_be_had_are_not_replaced_by_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with bench(monkeypatch) as here:
        here.accounts.failure = UnavailableError("The accounts are down.")
        assert await here.refusal(organization="uni") == "The accounts are down."
        assert here.paid() == []


async def test_a_list_of_models_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        limited = Settings(base_url=f"{here.own.url}/v1", models=["own"], enabled=True)
        ollama = Settings(base_url="http://127.0.0.1:1", models=["llama"], enabled=True)
        here.accounts.add("uni", providers={"openai": limited, "ollama": ollama})
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_MODELS", "operators")
        listed = {}
        for slug in ("uni", "poor"):
            with calling_as(Caller("", Identity("ann", slug))):
                options = new_call_options(10)
                listed[slug] = await here.stub.ListModels(pb.ListModelsRequest(), **options)
    models = {slug: [m.ref.model for m in response.models] for slug, response in listed.items()}
    assert "own" in models["uni"]
    assert "own" not in models["poor"]
    problems = {slug: {p.connector for p in response.problems} for slug, response in listed.items()}
    keyless = {"anthropic", "banana_img", "ollama"}
    assert problems == {"uni": keyless, "poor": {"openai", *keyless}}
