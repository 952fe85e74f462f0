"""Which requests go through a proxy, and which targets it may be sent to."""

import httpx
import pytest
from aiohttp import web as server
from heddle_runtime.http.egress import SETTING, Egress, EgressSettings, ForbiddenAddressError
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.http.web_proxies import Proxy, WebProxies, proxy_at
from pydantic import ValidationError
from web_proxy import web_proxy
from web_server import web_server


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "http://proxy.example.org:3128",
            Proxy("proxy.example.org", 3128, secure=False, authorization=""),
        ),
        ("proxy:3128/", Proxy("proxy", 3128, secure=False, authorization="")),
        ("https://[::1]", Proxy("::1", 443, secure=True, authorization="")),
        ("http://a:b%40c@proxy", Proxy("proxy", 80, secure=False, authorization="Basic YTpiQGM=")),
    ],
)
def test_an_address_names_a_proxy(url: str, expected: Proxy) -> None:
    assert proxy_at(url) == expected


@pytest.mark.parametrize("url", ["socks5://proxy:1080", "http://", "http://p:port", "ftp://p"])
def test_what_is_no_http_proxy_is_refused_when_the_service_starts(url: str) -> None:
    with pytest.raises(ValidationError, match="HTTPS_PROXY"):
        EgressSettings.model_validate({"HTTPS_PROXY": url})


@pytest.mark.parametrize(
    ("exceptions", "host", "direct"),
    [
        ("", "a.example.org", False),
        ("*", "a.example.org", True),
        ("example.org", "a.example.org", True),
        (".example.org", "A.Example.org", True),
        ("*.example.org", "a.example.org", True),
        ("example.org", "badexample.org", False),
        ("b.org, example.org:8080", "example.org", True),
        ("example.org:80", "example.org", False),
        ("10.0.0.0/8", "10.1.2.3", True),
        ("10.0.0.0/8", "11.1.2.3", False),
        ("10.0.0.0/8", "ten.example.org", False),
        ("::1", "::1", True),
        ("127.0.0.1", "127.0.0.1", True),
    ],
)
def test_exceptions_need_no_proxy(exceptions: str, host: str, *, direct: bool) -> None:
    settings = EgressSettings.model_validate({"HTTP_PROXY": "proxy:3128", "NO_PROXY": exceptions})
    assert (settings.proxies.proxy_for("http", host, 8080) is None) is direct
    assert settings.proxies.proxy_for("https", host, 8080) is None


async def hello(_: server.BaseRequest) -> server.StreamResponse:
    return server.Response(text="hello")


async def test_requests_of_all_clients_go_through_the_proxy() -> None:
    async with web_proxy() as proxy, web_server(hello) as url:
        proxies = WebProxies({"http": proxy_at(proxy.url)})
        allowed = Egress(EgressSettings.model_validate({SETTING: "127.0.0.0/8"}).private_networks)
        for egress in (None, allowed):
            async with new_client(5, egress, proxies=proxies) as http:
                assert (await http.get(f"{url}/a")).text == "hello"
    assert proxy.requests == [f"GET {url}/a"] * 2


@pytest.mark.parametrize("scheme", ["http", "https"])
@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "[::1]", "169.254.169.254", "[::ffff:10.0.0.1]"]
)
async def test_no_proxy_is_sent_to_a_private_address(scheme: str, host: str) -> None:
    async with web_proxy() as proxy:
        found = proxy_at(proxy.url)
        proxies = WebProxies({"http": found, "https": found}, resolve_names=True)
        async with new_client(5, Egress(), proxies=proxies) as http:
            with pytest.raises(ForbiddenAddressError):
                await http.get(f"{scheme}://{host}:81/")
    assert proxy.requests == []


@pytest.mark.parametrize("resolve_names", [False, True])
async def test_a_name_that_is_unknown_here_needs_the_operators_consent(
    *, resolve_names: bool
) -> None:
    async with web_proxy() as proxy, web_server(hello) as url:
        settings = {
            "HTTP_PROXY": proxy.url,
            "HEDDLE_PROXY_RESOLVES_NAMES": str(resolve_names),
        }
        proxies = EgressSettings.model_validate(settings).proxies
        named = url.replace("127.0.0.1", "server.invalid")
        async with new_client(5, Egress(), proxies=proxies) as http:
            if resolve_names:
                assert (await http.get(named)).text == "hello"
            else:
                with pytest.raises(httpx.ConnectError):
                    await http.get(named)
    assert len(proxy.requests) == resolve_names
