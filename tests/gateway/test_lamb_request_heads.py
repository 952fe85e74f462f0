"""What LAMB reads of a head that the gateway has written, for any headers of a client."""

import string
from types import SimpleNamespace
from typing import Any

import h11
import pytest
from heddle_gateway.http.error_responses import RejectedRequestError
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.lamb.proxy.origin import origin_of_url
from heddle_gateway.lamb.proxy.request_head import HOP_BY_HOP, RequestHeads
from hypothesis import given
from hypothesis import strategies as st
from runtime.examples import examples

OWN = {"host", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "forwarded"}
REPLACED = OWN | {"x-request-id", "content-length", "expect", "x-forwarded-port", "x-real-ip"}
HEADS = RequestHeads(b"lamb:9099", (), "")
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
        "raw_path": b"/creator/x",
        "query_string": b"",
        "http_version": "1.1",
        "client": ("203.0.113.7", 1),
        "state": {"connection": SimpleNamespace()},
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
        **scope,
    }
    return RawRequest(whole, SimpleNamespace(), SimpleNamespace(), direct=False)  # type: ignore[arg-type] # nothing is sent


def read(message: bytes) -> h11.Request:
    """Return what a strict parser reads of a request without a body."""
    connection = h11.Connection(h11.SERVER)
    connection.receive_data(message)
    event = connection.next_event()
    assert isinstance(event, h11.Request)
    assert isinstance(connection.next_event(), h11.EndOfMessage)
    return event


@examples(300)
@given(headers=st.lists(st.tuples(NAMES, VALUES), max_size=8))
def test_lamb_reads_the_client_s_headers_and_those_of_the_gateway(
    headers: list[tuple[str, str]],
) -> None:
    codings = {"transfer-encoding", "content-length", "host"}
    sent = [(name, value) for name, value in headers if name not in codings]
    head = HEADS.make(request([("host", "lamb.example"), *sent]))
    got = [
        (name.decode(), value.decode("latin-1")) for name, value in read(head.whole(b"")).headers
    ]
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


@pytest.mark.parametrize("character", ["\r", "\n", "\0"])
def test_a_header_with_a_line_break_is_refused(character: str) -> None:
    with pytest.raises(RejectedRequestError):
        HEADS.make(request([("host", "lamb.example"), ("x-a", f"one{character}x-b: two")]))


@pytest.mark.parametrize(
    ("url", "host", "port", "authority"),
    [
        ("http://lamb:9099", "lamb", 9099, b"lamb:9099"),
        ("http://lamb.uni.example/", "lamb.uni.example", 80, b"lamb.uni.example"),
        ("https://lamb.uni.example", "lamb.uni.example", 443, b"lamb.uni.example"),
        ("http://[::1]:9099", "::1", 9099, b"[::1]:9099"),
    ],
)
def test_an_address_of_lamb_is_a_host_and_a_port(
    url: str, host: str, port: int, authority: bytes
) -> None:
    origin = origin_of_url(url)
    assert (origin.host, origin.port, origin.authority) == (host, port, authority)
    assert (origin.tls is not None) == url.startswith("https")


def test_a_client_over_ipv6_has_brackets_in_forwarded() -> None:
    head = HEADS.make(request([("host", "lamb.example")], client=("2001:db8::7", 1)))
    assert b'forwarded: for="[2001:db8::7]";host="lamb.example";proto=http\r\n' in head.lines


def test_the_scheme_is_that_of_the_public_address() -> None:
    heads = RequestHeads(b"lamb:9099", (), "https://lamb.uni.example")
    lines = heads.make(request([("host", "lamb.uni.example")])).lines
    assert b"x-forwarded-proto: https\r\n" in lines
    assert b";proto=https\r\n" in lines


def test_a_client_of_http_1_0_without_a_host_names_lamb() -> None:
    head = HEADS.make(request([], http_version="1.0"))
    assert b"host: lamb:9099\r\n" in head.lines
