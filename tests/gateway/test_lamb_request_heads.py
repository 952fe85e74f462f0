"""What LAMB reads of a head that the gateway has written, for any headers of a client."""

import asyncio
import string
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import h11
import pytest
from connector.tls import Authority
from heddle_gateway.http.raw import RawRequest
from heddle_migration_service.proxy.client import LambClient
from heddle_migration_service.proxy.request_head import HOP_BY_HOP, RequestHead, RequestHeads
from heddle_migration_service.proxy.upload import Upload
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples

OWN = {"host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded"}
REPLACED = OWN | {
    *("x-request-id", "content-length", "expect", "x-forwarded-port", "x-real-ip"),
    *("x-api-key", "x-openwebui-user-email", "x-openwebui-chat-id"),
}
HEADS = RequestHeads(b"lamb:9099", (), "", lambda _: False)
NAMES = st.one_of(
    st.text(string.ascii_lowercase + string.digits + "-_!#$%&'*+.^`|~", min_size=1, max_size=12),
    st.sampled_from(sorted({*REPLACED, *(name.decode() for name in HOP_BY_HOP), "cookie"})),
)
VALUES = st.text(
    st.characters(min_codepoint=0x20, max_codepoint=0xFF, exclude_characters="\x7f"), max_size=40
).map(str.strip)


def request(headers: list[tuple[str, str]], **scope: Any) -> RawRequest:
    """Return a request as uvicorn describes it."""
    whole = {
        "method": "GET",
        "path": "/creator/x",
        "raw_path": b"/creator/x",
        "query_string": b"",
        "http_version": "1.1",
        "client": ("203.0.113.7", 1),
        "state": {"connection": SimpleNamespace()},
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        **scope,
    }
    return RawRequest(whole, SimpleNamespace(), SimpleNamespace(), direct=False)  # type: ignore[arg-type] # nothing is sent


def read(head: RequestHead) -> h11.Request:
    """Return what a strict parser reads of a request without a body."""
    client, server = h11.Connection(h11.CLIENT), h11.Connection(h11.SERVER)
    request = h11.Request(method=head.method, target=head.target, headers=head.headers)
    server.receive_data(client.send(request) or b"")
    event = server.next_event()
    assert isinstance(event, h11.Request)
    assert isinstance(server.next_event(), h11.EndOfMessage)
    return event


@examples(300)
@given(headers=st.lists(st.tuples(NAMES, VALUES), max_size=8))
def test_lamb_reads_the_client_s_headers_and_those_of_the_gateway(
    headers: list[tuple[str, str]],
) -> None:
    codings = {"transfer-encoding", "content-length", "host"}
    sent = [(name, value) for name, value in headers if name not in codings]
    head = HEADS.make(request([("host", "lamb.example"), *sent]))
    got = [(name.decode(), value.decode("latin-1")) for name, value in read(head).headers]
    declared = {
        token.strip().lower()
        for name, value in sent
        if name == "connection"
        for token in value.split(",")
    }
    dropped = REPLACED | {name.decode() for name in HOP_BY_HOP} | declared
    expected = [
        (name, value)
        for name, value in sent
        if name.replace("_", "-") not in REPLACED
        and name not in dropped
        and (value or name != "cookie")
    ]
    assert [each for each in got if each[0] not in OWN | {"x-request-id"}] == expected
    assert {name for name, _ in got} >= OWN
    assert dict(got)["x-forwarded-for"] == "203.0.113.7"


async def test_an_upload_reaches_a_lamb_over_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = await reader.readexactly(24)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 24\r\n\r\n" + body)
        await reader.read()
        writer.close()

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0.03)  # bytes of TLS arrive, which are no response
        sent.append(b"part %d, " % len(sent))
        return {"type": "http.request", "body": sent[-1], "more_body": len(sent) < 3}

    sent: list[bytes] = []
    authority = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(authority.certificate))
    tls = authority.server_context("127.0.0.1")
    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=tls)
    host, port = server.sockets[0].getsockname()
    form = request([("host", "lamb.example"), ("content-length", "24")], method="POST")
    form.receive = receive
    upload = Upload(form, 100, 5.0)
    async with (
        server,
        LambClient(f"https://{host}:{port}", 5.0).send(
            HEADS.make(form), upload, trace=upload.trace
        ) as response,
    ):
        assert await response.aread() == b"part 0, part 1, part 2, "


@pytest.mark.parametrize(
    ("url", "host", "port"),
    [
        ("http://lamb:9099", "lamb", 9099),
        ("http://lamb.uni.example/", "lamb.uni.example", 80),
        ("https://lamb.uni.example", "lamb.uni.example", 443),
        ("http://[::1]:9099", "::1", 9099),
    ],
)
def test_an_address_of_lamb_is_a_host_and_a_port(url: str, host: str, port: int) -> None:
    client = LambClient(url, 1.0)
    assert (client.host, client.port) == (host, port)
    assert (client.tls is not None) == url.startswith("https")


def test_a_client_over_ipv6_has_brackets_in_forwarded() -> None:
    head = HEADS.make(request([("host", "lamb.example")], client=("2001:db8::7", 1)))
    forwarded = b'for="[2001:db8::7]";host="lamb.example";proto=http'
    assert dict(head.headers)[b"forwarded"] == forwarded


def test_the_scheme_is_that_of_the_public_address() -> None:
    heads = RequestHeads(b"lamb:9099", (), "https://lamb.uni.example", lambda _: False)
    headers = dict(heads.make(request([("host", "lamb.uni.example")])).headers)
    assert headers[b"x-forwarded-proto"] == b"https"
    assert headers[b"forwarded"].endswith(b";proto=https")


def test_a_client_of_http_1_0_without_a_host_names_lamb() -> None:
    head = HEADS.make(request([], http_version="1.0"))
    assert (b"host", b"lamb:9099") in head.headers
