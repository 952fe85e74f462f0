"""Providers that list no models are stored only for those who insist."""

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from assistants.accounts.conftest import ADMIN, SECRET, UNI_ADMIN, Accounts, serving
from heddle.account.v1 import account_pb2 as pb
from heddle.connector.v1 import connector_pb2, connector_pb2_grpc
from heddle_assistants.other_services import OtherServices
from heddle_runtime.errors import InvalidRequestError, NotFoundError, UnavailableError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Binding, bind, running
from heddle_runtime.settings.service import ServiceSettings
from pydantic import SecretStr

GOOD = "https://good.example/v1"
BAD = "https://bad.example/v1"


@dataclass
class Connectors(connector_pb2_grpc.ConnectorServiceServicer):
    """A connector service for which one address works."""

    checks: list[tuple[str, str, str, str]] = field(default_factory=list)

    async def CheckProvider(self, request: Any, context: Any) -> Any:
        checks = (caller().identity.subject, request.organization, request.connector)
        self.checks.append((*checks, request.api_key))
        if request.connector != "openai":
            raise NotFoundError(f"No connector is named {request.connector!r}.")
        if request.base_url == GOOD:
            models = [connector_pb2.ListedModel(id="m", title="M")]
            return connector_pb2.CheckProviderResponse(models=models)
        if request.base_url != BAD:
            raise UnavailableError("The service is starting.")
        return connector_pb2.CheckProviderResponse(
            problem=connector_pb2.PROVIDER_PROBLEM_KEY,
            message="The key is wrong.",
            provider_message="Go away.",
        )


@pytest.fixture
async def bench(populated_url: str) -> AsyncIterator[tuple[Accounts, Connectors]]:
    """The account service beside a connector service."""
    connectors = Connectors()  # type: ignore[abstract] # one method is called

    @asynccontextmanager
    async def app() -> AsyncIterator[Sequence[Binding]]:
        yield [bind(connector_pb2_grpc.add_ConnectorServiceServicer_to_server, connectors)]

    values = {"HEDDLE_IDENTITY_SECRET": SECRET, "drain_wait": 0.0, "listen": "127.0.0.1:0"}
    settings = ServiceSettings.model_validate(values)
    contract = connector_pb2.DESCRIPTOR.services_by_name["ConnectorService"]
    async with (
        running(app(), settings) as service,
        channel(service.address, contract, secret=SecretStr(SECRET)) as to_connectors,
    ):
        stub = connector_pb2_grpc.ConnectorServiceStub(to_connectors)
        async with serving(populated_url, OtherServices(connectors=stub)) as accounts:
            yield accounts, connectors


def settings(**providers: Any) -> str:
    return json.dumps({"providers": providers})


CASES: dict[str, tuple[dict[str, Any], str]] = {
    "works": ({"openai": {"base_url": GOOD, "api_key": "k"}}, ""),
    "is off": ({"openai": {"base_url": BAD, "enabled": False}}, ""),
    "fails": ({"openai": {"base_url": BAD}}, "The key is wrong. The provider says: Go away."),
    "searches the web": ({"tavily": {"api_key": "k"}}, ""),
}


@pytest.mark.parametrize("case", CASES)
async def test_a_provider_is_stored_if_it_works_or_the_caller_insists(
    bench: tuple[Accounts, Connectors], case: str
) -> None:
    accounts, _ = bench
    providers, problem = CASES[case]
    if not problem:
        await accounts.put("uni", settings(**providers), identity=UNI_ADMIN)
        return
    with pytest.raises(InvalidRequestError) as caught:
        await accounts.put("uni", settings(**providers), identity=UNI_ADMIN)
    assert problem in caught.value.violations[0].description
    assert (await accounts.organization("uni")).organization.settings_json == "{}"
    organization = pb.Organization(slug="uni", settings_json=settings(**providers))
    request = pb.PutOrganizationRequest(organization=organization, allow_failing_providers=True)
    await accounts.call("PutOrganization", request, UNI_ADMIN)
    assert json.loads((await accounts.organization("uni")).organization.settings_json)


async def test_only_what_changes_is_tested_for_the_caller(
    bench: tuple[Accounts, Connectors],
) -> None:
    accounts, connectors = bench
    provider = {"base_url": GOOD, "api_key": "secret"}
    await accounts.put("uni", settings(openai=provider), identity=UNI_ADMIN)
    assert connectors.checks == [(UNI_ADMIN.subject, "uni", "openai", "secret")]
    stored = {**provider, "api_key": "********", "models": ["m"]}
    await accounts.put("uni", settings(openai=stored), identity=UNI_ADMIN)
    await accounts.put("uni", "", identity=UNI_ADMIN)
    assert len(connectors.checks) == 1
    await accounts.put("new", settings(openai=provider))
    assert connectors.checks[1] == (ADMIN.subject, "default", "openai", "secret")


async def test_nothing_is_stored_while_no_service_can_test_it(
    bench: tuple[Accounts, Connectors],
) -> None:
    accounts, _ = bench
    with pytest.raises(UnavailableError, match="is starting"):
        await accounts.put("uni", settings(openai={"base_url": "https://slow.example"}))
