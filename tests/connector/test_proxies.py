"""Providers that are reached through the proxies of the environment."""

import base64
import json

import pytest
from heddle_connector.http import Request, http_client
from heddle_runtime.errors import HeddleError, UnavailableError
from heddle_runtime.http.egress import SETTING, Egress
from heddle_runtime.http.web_proxies import WebProxies, proxy_at
from web_proxy import WebProxy, web_proxy

from connector.provider import Exchange, chunk, provider, text
from connector.service import answer, as_whole, asked, events, nobodys_accounts, service
from connector.test_egress import at, request
from connector.tls import Authority

NAME = "provider.invalid"
"""A name that no server of names knows."""


async def script(exchange: Exchange) -> None:
    if exchange.json.get("stream"):
        await exchange.stream(text("Hello"), chunk({}, "stop"), b"data: [DONE]\n\n")
    else:
        message = {"message": {"content": "Hello"}, "finish_reason": "stop"}
        await exchange.reply(200, json.dumps({"choices": [message]}))


def through(proxy: WebProxy, *exceptions: str, resolve_names: bool = False) -> WebProxies:
    address = proxy_at(proxy.url.replace("://", "://ann:s%40cret@"))
    return WebProxies({"http": address, "https": address}, exceptions, resolve_names)


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_provider_is_reached_through_the_proxy(
    scheme: str, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    tls = authority.server_context() if scheme == "https" else None
    async with web_proxy() as proxy, provider(script, tls) as running:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{running.url}/v1")
        monkeypatch.setenv(f"{scheme}_proxy", proxy.url)
        async with service() as stub:
            for call in (asked(), as_whole(asked())):
                assert answer(await events(stub, call)) == "Hello"
    target = running.url.removeprefix("https://")
    expected = f"CONNECT {target}" if scheme == "https" else f"POST {target}/v1/chat/completions"
    assert proxy.requests == [expected]  # one connection serves both calls


async def test_credentials_are_for_the_proxy() -> None:
    async with web_proxy() as proxy, provider(script) as running:
        async with http_client(2, proxies=through(proxy)) as http:
            await http.fetch(Request(running.url, {}, 5, b"{}"))
        secure = running.url.replace("http:", "https:")
        async with http_client(2, proxies=through(proxy)) as http:
            with pytest.raises(UnavailableError):  # the provider does not speak TLS
                await http.fetch(Request(secure, {}, 5, b"{}"))
    expected = f"Basic {base64.b64encode(b'ann:s@cret').decode()}"
    assert proxy.credentials == [expected] * 2


@pytest.mark.parametrize("exception", ["127.0.0.0/8", "127.0.0.1", "*"])
async def test_exceptions_are_reached_directly(exception: str) -> None:
    async with (
        web_proxy() as proxy,
        provider(script) as running,
        http_client(2, proxies=through(proxy, exception)) as http,
    ):
        await http.fetch(Request(running.url, {}, 5, b"{}"))
    assert proxy.requests == []


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.1", "2130706433"])
async def test_no_proxy_leads_into_a_private_network(scheme: str, host: str) -> None:
    async with web_proxy() as proxy, provider(script) as running:
        accounts = nobodys_accounts()
        accounts.add("uni", providers={"openai": at(running, host, scheme)})
        settings = {SETTING: "", "HEDDLE_PROXY_RESOLVES_NAMES": "true"}
        proxies = {"HTTP_PROXY": proxy.url, "HTTPS_PROXY": proxy.url}
        async with service(accounts, **settings, **proxies) as stub:
            with pytest.raises(Exception, match="Ask the operator to allow it") as caught:
                await events(stub, request("uni"))
    assert not isinstance(caught.value, HeddleError)  # it came over the wire
    assert proxy.requests == []
    assert running.connections == 0


@pytest.mark.parametrize("resolve_names", [False, True])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_name_that_is_unknown_here_needs_the_operators_consent(
    scheme: str, authority: Authority, monkeypatch: pytest.MonkeyPatch, *, resolve_names: bool
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    tls = authority.server_context(NAME) if scheme == "https" else None
    async with web_proxy() as proxy, provider(script, tls) as running:
        url = running.url.replace("127.0.0.1", NAME)
        proxies = through(proxy, resolve_names=resolve_names)
        async with http_client(5, Egress(), proxies=proxies) as http:
            if resolve_names:
                assert b"Hello" in await http.fetch(Request(url, {}, 5, b"{}"))
            else:
                with pytest.raises(UnavailableError):
                    await http.fetch(Request(url, {}, 5, b"{}"))
    assert len(proxy.requests) == resolve_names


@pytest.mark.parametrize("status", [b"407 Proxy Authentication Required", b"403 Forbidden", b"x"])
async def test_a_proxy_that_refuses_is_named_to_the_operator(status: bytes) -> None:
    async with web_proxy(status) as proxy, http_client(2, proxies=through(proxy)) as http:
        with pytest.raises(UnavailableError) as caught:
            await http.fetch(Request("https://provider.example", {}, 5, b"{}"))
    assert "the proxy answers" in (caught.value.diagnosis or "")
