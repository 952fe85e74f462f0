"""A connector declares which of its settings an organisation supplies."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.connectors.bypass import Bypass
from heddle_connector.sdk import BaseUrl, FromOrganization, connector
from heddle_connector.sdk import Settings as ConnectorSettings
from heddle_runtime.errors import NotSetUpError
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from runtime.accounts import SECRET, Accounts
from structlog.testing import capture_logs

from connector.provider import Exchange, Provider, provider
from connector.service import (
    Stub,
    answer,
    as_whole,
    events,
    failure,
    nobodys_accounts,
    service,
)
from connector.service import asked as generate_request

OWN, OPERATORS = "own-0123456789abcdef", "operators-0123456789abcdef"
MODEL = ModelRef(connector="inhouse", model="inhouse-1")
INHOUSE = '''
"""A connector whose settings have names of their own."""
from typing import Annotated
from pydantic import Field, SecretStr
from heddle_connector.sdk import (
    Connector, Done, FromOrganization, Model, Request, Settings, TextDelta, connector
)

class InhouseSettings(Settings, env_prefix="HEDDLE_CONNECTOR_INHOUSE_"):
    endpoint: ENDPOINT = Field(default="http://127.0.0.1:9", description="Where.")
    token: TOKEN = Field(default=SecretStr(""), description="What opens it.")

@connector("inhouse", settings=InhouseSettings)
class Inhouse(Connector[InhouseSettings]):
    """Asks a server of the operator."""

    async def models(self, seconds):
        return [Model("inhouse-1")]

    async def generate(self, call):
        headers = {"x-token": self.settings.token.get_secret_value()}
        body = await self.http.fetch(Request(self.settings.endpoint, headers, call.seconds, b"{}"))
        yield [TextDelta(body.decode()), Done("stop")]
'''
UNDECLARED = INHOUSE.replace("ENDPOINT", "str").replace("TOKEN", "SecretStr")
DECLARED = INHOUSE.replace("ENDPOINT", 'Annotated[str, FromOrganization("base_url")]').replace(
    "TOKEN", 'Annotated[SecretStr, FromOrganization("api_key")]'
)
FOR_ALL = UNDECLARED.replace('("inhouse", ', '("inhouse", for_all_organizations=True, ')


class Bench:
    """The service with one more connector, an organisation's server, and the operator's."""

    def __init__(self, accounts: Accounts, own: Provider, operators: Provider) -> None:
        self.accounts = accounts
        self.own = own
        self.operators = operators
        self.stub: Stub

    def tokens(self) -> list[str]:
        """Return the tokens that arrived, those of the organisation's server first."""
        exchanges = [*self.own.exchanges, *self.operators.exchanges]
        return [exchange.headers.get("x-token", "") for exchange in exchanges]

    async def connectors(self, organization: str) -> tuple[list[str], list[str], dict[str, str]]:
        """Return the listed connectors, those with models, and those with problems."""
        with calling_as(Caller("", Identity("ann", organization))):
            options = new_call_options(10)
            listed = await self.stub.ListConnectors(pb.ListConnectorsRequest(), **options)
            models = await self.stub.ListModels(pb.ListModelsRequest(), **options)
        return (
            [each.name for each in listed.connectors],
            [model.ref.connector for model in models.models],
            {problem.connector: problem.message for problem in models.problems},
        )


async def script(exchange: Exchange) -> None:
    await exchange.reply(200, "hi")


@asynccontextmanager
async def bench(
    folder: Path, source: str, monkeypatch: pytest.MonkeyPatch, **settings: Any
) -> AsyncGenerator[Bench]:
    (folder / "inhouse.py").write_text(source)
    async with provider(script) as own, provider(script) as operators:
        monkeypatch.setenv("HEDDLE_CONNECTOR_INHOUSE_ENDPOINT", operators.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_INHOUSE_TOKEN", OPERATORS)
        accounts = nobodys_accounts(**{"ann@uni.example": "uni"})
        inhouse = Settings(base_url=own.url, api_key=OWN, enabled=True)
        accounts.add("uni", providers={"inhouse": inhouse})
        accounts.add("poor")
        accounts.add("default", system=True)
        ready = Bench(accounts, own, operators)
        async with service(accounts, plugins_dir=folder, **settings) as ready.stub:
            yield ready


def request(organization: str, *, whole: bool = False, owner: str = "") -> Any:
    assistant = Assistant(id="1", model=MODEL, organization=organization, owner=owner)
    generation = generate_request("inhouse", "inhouse-1", assistant=assistant)
    return as_whole(generation) if whole else generation


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
@pytest.mark.parametrize("share", [False, True], ids=["", "shared"])
@pytest.mark.parametrize("organization", ["uni", "poor", "nowhere", ""])
async def test_a_connector_that_declares_none_is_never_used_for_an_organisation(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    organization: str,
    *,
    whole: bool,
    share: bool,
) -> None:
    owner = "" if organization else "ann@uni.example"
    async with bench(tmp_path, UNDECLARED, monkeypatch, share_providers=share) as here:
        with capture_logs() as logs:
            error = await failure(here.stub, request(organization, whole=whole, owner=owner))
        assert here.tokens() == []
    assert type(error) is NotSetUpError
    assert error.message.startswith("The connector 'inhouse' is not available to organisations")
    assert "Choose a model of another connector" in error.message
    assert any("FromOrganization" in str(line.get("diagnosis")) for line in logs)


async def test_an_organisations_default_model_is_not_one_of_it_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, UNDECLARED, monkeypatch) as here:
        here.accounts.add("uni", default_model="inhouse/inhouse-1")
        assistant = Assistant(id="1", model=MODEL, organization="uni")
        await failure(here.stub, generate_request("openai", "gpt-x", assistant=assistant))
        assert here.tokens() == []


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_the_operators_own_organisation_uses_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    async with bench(tmp_path, UNDECLARED, monkeypatch) as here:
        assert answer(await events(here.stub, request("default", whole=whole))) == "hi"
        assert answer(await events(here.stub, request("", whole=whole))) == "hi"
        assert here.tokens() == [OPERATORS, OPERATORS]


async def test_lists_leave_it_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with bench(tmp_path, UNDECLARED, monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        for organization in ("uni", "poor"):
            listed, with_models, problems = await here.connectors(organization)
            assert "inhouse" not in listed
            assert "inhouse" not in with_models
            assert "is not available to organisations" in problems["inhouse"]
        listed, with_models, problems = await here.connectors("default")
    assert "inhouse" in listed
    assert "inhouse" in with_models
    assert "inhouse" not in problems


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_declared_settings_have_any_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    async with bench(tmp_path, DECLARED, monkeypatch) as here:
        assert answer(await events(here.stub, request("uni", whole=whole))) == "hi"
        assert here.tokens() == [OWN]
        error = await failure(here.stub, request("poor", whole=whole))
        assert "organisation has not set up the provider 'inhouse'" in error.message
        assert here.tokens() == [OWN]


async def test_lists_contain_a_connector_that_declares_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, DECLARED, monkeypatch, HEDDLE_IDENTITY_SECRET=SECRET) as here:
        for organization, ready in (("uni", True), ("poor", False), ("default", True)):
            listed, with_models, _ = await here.connectors(organization)
            assert "inhouse" in listed
            assert ("inhouse" in with_models) is ready


async def test_a_connector_can_be_for_all_organisations(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with bench(tmp_path, FOR_ALL, monkeypatch) as here:
        assert answer(await events(here.stub, request("poor"))) == "hi"
        assert here.tokens() == [OPERATORS]
        assert not here.accounts.asked


def test_a_connector_declares_one_of_both() -> None:
    class Both(ConnectorSettings):
        where: Annotated[BaseUrl, FromOrganization("base_url")] = "http://127.0.0.1:9"

    with pytest.raises(ValueError, match="cannot be used for_all_organizations"):
        connector("both", settings=Both, for_all_organizations=True)(Bypass)
