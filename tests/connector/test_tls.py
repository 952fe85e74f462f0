"""Connections over TLS: which certificates are accepted, and where connections lead."""

import asyncio

import pytest
import uvloop
from heddle_connector.http import Request, http_client
from heddle_runtime.errors import UnavailableError
from heddle_runtime.http.egress import Egress

from connector.provider import Exchange, provider
from connector.tls import Authority

HOST = "provider.example"


async def script(exchange: Exchange) -> None:
    await exchange.reply(200, "{}")


class Resolved(Egress):
    """A policy that resolves and approves one host."""

    async def addresses(self, host: str, port: int) -> list[str]:
        assert host == HOST
        return ["127.0.0.1"]


@pytest.fixture
def trusted(authority: Authority, monkeypatch: pytest.MonkeyPatch) -> Authority:
    """Return an authority that clients trust."""
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    return authority


async def test_an_unknown_authority_is_refused_and_not_tried_again(authority: Authority) -> None:
    async with provider(script, authority.server_context()) as server, http_client(2) as http:
        with pytest.raises(UnavailableError):
            await http.fetch(Request(server.url, {}, 5, b"{}"))
    assert server.exchanges == []


async def test_a_certificate_for_another_host_is_refused(trusted: Authority) -> None:
    context = trusted.server_context("other.example")
    async with provider(script, context) as server, http_client(2) as http:
        with pytest.raises(UnavailableError):
            await http.fetch(Request(server.url, {}, 5, b"{}"))
    assert server.exchanges == []


async def test_a_server_without_tls_is_unavailable() -> None:
    async with provider(script) as server, http_client(2) as http:
        url = server.url.replace("http://", "https://")
        with pytest.raises(UnavailableError):
            await http.fetch(Request(url, {}, 5, b"{}"))


async def test_the_connection_leads_to_the_approved_address_and_the_certificate_is_the_hosts(
    trusted: Authority,
) -> None:
    names: list[str | None] = []
    context = trusted.server_context(HOST)
    context.sni_callback = lambda _socket, name, _context: names.append(name)
    async with provider(script, context) as server, http_client(2, Resolved()) as http:
        port = server.url.rpartition(":")[2]
        assert await http.fetch(Request(f"https://{HOST}:{port}/", {}, 5, b"{}")) == b"{}"
    assert names == [HOST]
    assert server.exchanges[0].headers["host"] == f"{HOST}:{port}"


def test_connections_are_reused_on_uvloop(trusted: Authority) -> None:
    async def main() -> None:
        async with provider(script, trusted.server_context()) as server, http_client(2) as http:
            for _ in range(3):
                assert await http.fetch(Request(server.url, {}, 5, b"{}")) == b"{}"
            assert server.connections == 1

    uvloop.run(main())


async def test_a_handshake_that_does_not_end_is_bounded_in_time() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(-1)
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server, http_client(0.2) as http:
        with pytest.raises(UnavailableError):
            await asyncio.wait_for(http.fetch(Request(url, {}, 5, b"{}")), 3)
