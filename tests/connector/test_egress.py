"""Providers of organisations that lie where only the operator may point."""

import json
from typing import Any

import pytest
from heddle.account.v1.account_pb2 import Provider as Settings
from heddle.assistant.v1.assistant_pb2 import Assistant, ModelRef
from heddle_connector.http import Request, http_client
from heddle_runtime.errors import UnavailableError
from heddle_runtime.http.egress import SETTING, Egress, EgressSettings

from connector.provider import Exchange, Provider, provider
from connector.service import as_whole, asked, events, failure, nobodys_accounts, service

CHOICE = {"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}
LOOPBACK = EgressSettings.model_validate({SETTING: "127.0.0.0/8"}).private_networks


async def script(exchange: Exchange) -> None:
    await exchange.reply(200, json.dumps({"model": "m", "choices": [CHOICE]}))


def request(organization: str) -> Any:
    model = ModelRef(connector="openai", model="gpt-x")
    return as_whole(asked(assistant=Assistant(id="1", model=model, organization=organization)))


def at(made: Provider, host: str, scheme: str = "http") -> Settings:
    url = made.url.replace("http://127.0.0.1", f"{scheme}://{host}")
    return Settings(base_url=f"{url}/v1", enabled=True)


@pytest.mark.parametrize(
    ("scheme", "host"),
    [
        *(("http", host) for host in ("127.0.0.1", "localhost", "127.1", "2130706433")),
        *(("https", host) for host in ("127.0.0.1", "localhost")),
    ],
)
async def test_an_organisations_provider_in_a_private_network_is_not_reached(
    scheme: str, host: str
) -> None:
    async with provider(script) as made:
        accounts = nobodys_accounts()
        accounts.add("uni", providers={"openai": at(made, host, scheme)})
        async with service(accounts, **{SETTING: ""}) as stub:
            error = await failure(stub, request("uni"))
        assert isinstance(error, UnavailableError)
        assert "Ask the operator to allow it." in error.message
        assert host not in error.message
        assert made.connections == 0


async def test_the_operator_may_name_any_address_and_allow_others_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with provider(script) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{made.url}/v1")
        accounts = nobodys_accounts()
        accounts.add("system", providers={"openai": at(made, "127.0.0.1")}, system=True)
        accounts.add("uni", providers={"openai": at(made, "127.0.0.1")})
        async with service(accounts, **{SETTING: ""}) as stub:
            await events(stub, request("system"))
            await events(stub, request(""))
            # What the operator may reach, nobody else does with the same settings.
            refused = await failure(stub, request("uni"))
            assert "Ask the operator to allow it." in refused.message
        async with service(accounts, **{SETTING: "10.0.0.0/8,127.0.0.0/8"}) as stub:
            await events(stub, request("uni"))
        assert len(made.exchanges) == 3


class Counting(Egress):
    """Counts how often it is asked."""

    asked = 0

    async def addresses(self, host: str, port: int) -> list[str]:
        self.asked += 1
        return await super().addresses(host, port)


async def test_a_connection_that_is_kept_is_not_looked_at_again() -> None:
    counting = Counting(LOOPBACK)
    async with provider(script) as made, http_client(2, counting) as http:
        for _ in range(5):
            await http.fetch(Request(f"{made.url}/v1", {}, 5, b"{}"))
        assert (counting.asked, made.connections, len(made.exchanges)) == (1, 1, 5)


async def test_a_name_leads_where_it_led_when_it_was_judged() -> None:
    class Turning(Egress):
        """A name that leads to the provider, and to something private ever after."""

        async def addresses(self, host: str, port: int) -> list[str]:
            assert host == "provider.example"
            return ["127.0.0.1"]

    async with provider(script) as made, http_client(2, Turning()) as http:
        port = made.url.rpartition(":")[2]
        reply = await http.fetch(Request(f"http://provider.example:{port}/", {}, 5, b"{}"))
        assert b"hi" in reply
        assert made.exchanges[0].headers["host"] == f"provider.example:{port}"
