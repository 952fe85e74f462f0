"""The gateway in front of LAMB: whose requests are whose, and that nothing is lost on the way."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio
from gateway.conftest import KEY, Bench, gateway
from gateway.replicas import server_port
from gateway.shelves import ON_SHARED_LOOP, SHARED_LOOP, SHARING
from heddle_migration_service.proxy.settings import LambSettings
from lamb_stand_in.creator import PARTS
from lamb_stand_in.server import PASSWORD, Lamb, lamb
from lamb_stand_in.tokens import SECRET
from patience import until
from pydantic import ValidationError

HTML = {"accept": "text/html,application/xhtml+xml"}


@dataclass(frozen=True)
class Front:
    """A gateway in front of a stand-in."""

    bench: Bench
    lamb: Lamb

    @property
    def client(self) -> httpx.AsyncClient:
        return self.bench.client

    async def echo(self, path: str = "/creator/echo", **options: Any) -> dict[str, Any]:
        """Return what LAMB has got of a request."""
        method = options.pop("method", "GET")
        response = await self.client.request(method, path, **options)
        assert response.status_code == 200, response.text
        return dict(response.json())


@pytest.fixture
async def front() -> AsyncIterator[Front]:
    """A gateway with its defaults in front of LAMB."""
    async with lamb(server_port()) as behind, gateway(lamb_url=behind.url) as bench:
        yield Front(bench, behind)


@pytest_asyncio.fixture(scope=SHARING, loop_scope=SHARED_LOOP)
async def front_of_all() -> AsyncIterator[Front]:
    async with lamb(server_port()) as behind, gateway(lamb_url=behind.url) as bench:
        yield Front(bench, behind)


@pytest.fixture
def shared_front(front_of_all: Front) -> Front:
    """The same for several tests; what LAMB has got before is forgotten."""
    front_of_all.lamb.requests.clear()
    return front_of_all


def headers_of(echoed: dict[str, Any], header: str) -> list[str]:
    """Return the values of a header that LAMB has got."""
    return [value for name, value in echoed["headers"] if name.lower() == header]


async def test_a_user_logs_in_to_lamb_through_heddle(front: Front) -> None:
    form = {"email": "ann@uni.example", "password": PASSWORD}
    login = await front.client.post("/creator/login", data=form)
    token = login.json()["data"]["token"]
    me = await front.client.get("/creator/me", headers={"authorization": f"Bearer {token}"})
    assert me.json()["data"]["email"] == "ann@uni.example"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/creator/assistant/get_assistants"),
        ("POST", "/creator/assistant/create_assistant"),
        ("PUT", "/creator/assistant/update_assistant/7"),
        ("POST", "/creator/assistant/7/chat/completions"),
        ("DELETE", "/creator/assistant/delete_assistant/7"),
        ("GET", "/creator/echo"),
        ("POST", "/lamb/v1/echo"),
    ],
)
@ON_SHARED_LOOP
async def test_a_route_of_lamb_is_answered_by_lamb(
    shared_front: Front, method: str, path: str
) -> None:
    body = {"json": {"name": "x"}} if method in ("POST", "PUT") else {}
    assert (await shared_front.echo(path, method=method, **body))["method"] == method
    assert shared_front.lamb.requests == [f"{method} {path}"]


@pytest.mark.parametrize(
    "path", ["/v1/models", "/models", "/status", "/health", "/lamb/v1/completions/tools", "/v1/me"]
)
@ON_SHARED_LOOP
async def test_a_route_of_heddle_stays_with_heddle(shared_front: Front, path: str) -> None:
    assert (await shared_front.client.get(path)).status_code == 200
    assert shared_front.lamb.requests == []


@ON_SHARED_LOOP
async def test_paths_that_only_a_knowledge_base_server_has_stay_with_heddle(
    shared_front: Front,
) -> None:
    key = {"authorization": "Bearer 0p3n-w3bu!"}
    assert "message" in (await shared_front.client.get("/", headers=key)).json()
    assert (await shared_front.client.get("/ingestion/3/jobs/404")).status_code in (401, 404)
    assert shared_front.lamb.requests == []


@ON_SHARED_LOOP
async def test_the_form_of_lamb_offers_what_lamb_has(shared_front: Front) -> None:
    offered = await shared_front.client.get("/lamb/v1/completions/list")
    assert offered.json() == PARTS
    assert shared_front.lamb.requests == ["GET /lamb/v1/completions/list"]


async def test_completions_stay_with_heddle(front: Front) -> None:
    assert (await front.bench.chat()).status_code == 200
    assert front.lamb.requests == []


async def test_pages_of_the_frontend_are_those_of_lamb_and_the_studio_is_heddles(
    front: Front,
) -> None:
    for path in ("/", "/assistants", "/assistants/7", "/org-admin"):
        page = await front.client.get(path, headers=HTML)
        assert "<h1>LAMB</h1>" in page.text, path
    assert len(front.lamb.requests) == 4
    studio = await front.client.get("/studio", headers=HTML)
    assert studio.status_code in (200, 404)
    assert "LAMB" not in studio.headers.get("server", "")
    assert (await front.client.get("/assistants")).headers["content-type"] == "application/json"
    assert len(front.lamb.requests) == 4


async def test_without_a_lamb_nothing_changes() -> None:
    async with gateway() as bench:
        response = await bench.client.get("/launches/old")
        assert response.status_code == 404
        assert response.json()["error"]["code"] == "unknown_url"


async def test_a_redirect_and_cookies_pass_unchanged_but_for_the_cookie_of_heddle(
    front: Front,
) -> None:
    response = await front.client.get("/launches/old", follow_redirects=False)
    assert response.status_code == 303
    assert response.headers["location"] == "https://chat.uni.example/?token=a%20b#top"
    assert response.headers.get_list("set-cookie") == [
        "lti=one; HttpOnly; Path=/; SameSite=None; Secure",
        "lang=ca; Path=/creator",
    ]
    assert response.headers.get_list("date") != []
    assert len(response.headers.get_list("date")) == 1


async def test_the_session_and_the_keys_of_heddle_do_not_reach_lamb(front: Front) -> None:
    cookie = "a=1; heddle_session=hs_secret; b=heddle_x; __Host-heddle_oidc=state"
    headers = {"cookie": cookie, "authorization": "Bearer hk_1_secret"}
    echoed = await front.echo(headers=headers)
    assert headers_of(echoed, "cookie") == ["a=1; b=heddle_x"]
    assert headers_of(echoed, "authorization") == []
    only = await front.echo(headers={"cookie": "heddle_session=hs_secret"})
    assert headers_of(only, "cookie") == []


async def test_keys_and_users_of_heddle_do_not_reach_lamb_and_lambs_own_token_does(
    tmp_path: Path,
) -> None:
    keys = tmp_path / "keys.json"
    keys.write_text(json.dumps({"a-key-of-the-file-16": {"subject": "ann@uni.example"}}))
    own = ["Bearer a-key-of-the-file-16", "bearer  the-trusted-key-16", "hk_1_secret"]
    headers = {"x-api-key": KEY, "x-openwebui-user-email": "ann@uni.example", "x_api_key": KEY}
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, api_keys=keys, trusted_api_key="the-trusted-key-16") as bench,
    ):
        front = Front(bench, behind)
        for value in [*own, f"Bearer {KEY}", "Bearer of-lamb"]:
            echoed = await front.echo(headers={**headers, "authorization": value})
            passed = [] if value in own else [value]
            assert headers_of(echoed, "authorization") == passed
            for name in headers:
                assert headers_of(echoed, name) == []


async def test_lamb_gets_the_host_and_the_address_of_the_client(front: Front) -> None:
    forged = {
        "host": "lamb.uni.example",
        "x-forwarded-for": "10.9.9.9",
        "x-forwarded-proto": "https",
        "forwarded": "for=10.9.9.9",
        "x-real-ip": "10.9.9.9",
        "x_forwarded_for": "10.9.9.9",
        "x-request-id": "abc-123",
    }
    echoed = await front.echo(headers=forged)
    assert headers_of(echoed, "host") == ["lamb.uni.example"]
    assert headers_of(echoed, "x-forwarded-for") == ["127.0.0.1"]
    assert headers_of(echoed, "x-forwarded-proto") == ["http"]
    assert headers_of(echoed, "x-forwarded-host") == ["lamb.uni.example"]
    assert headers_of(echoed, "forwarded") == ['for=127.0.0.1;host="lamb.uni.example";proto=http']
    assert headers_of(echoed, "x-request-id") == ["abc-123"]
    assert "10.9.9.9" not in json.dumps(echoed)


async def test_what_a_trusted_proxy_says_of_the_client_counts() -> None:
    claims = {
        "x-forwarded-for": "203.0.113.7",
        "x-forwarded-proto": "https",
        "x-forwarded-host": "lamb.uni.example",
    }
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, trusted_proxies="127.0.0.0/8") as bench,
    ):
        echoed = await Front(bench, behind).echo(headers=claims)
    assert headers_of(echoed, "x-forwarded-for") == ["203.0.113.7, 127.0.0.1"]
    assert headers_of(echoed, "x-forwarded-proto") == ["https"]
    assert headers_of(echoed, "x-forwarded-host") == ["lamb.uni.example"]


async def test_headers_of_one_connection_are_not_sent_on(front: Front) -> None:
    echoed = await front.echo(
        headers={
            "connection": "x-hop, keep-alive",
            "x-hop": "1",
            "te": "trailers",
            "proxy-authorization": "Basic eA==",
            "keep-alive": "timeout=5",
            "x-kept": "2",
        }
    )
    names = {name.lower() for name, _ in echoed["headers"]}
    assert names.isdisjoint({"x-hop", "te", "proxy-authorization", "keep-alive", "connection"})
    assert headers_of(echoed, "x-kept") == ["2"]


async def test_a_target_arrives_byte_for_byte(front: Front) -> None:
    path = "/creator/echo?a=%2F..%2F&b=%C3%A9&&c=1+2;d"
    assert (await front.echo(path))["raw_target"] == path
    encoded = await front.client.get("/lti/a%2Fb%20c")
    assert encoded.status_code == 200
    assert front.lamb.requests[-1] == "GET /lti/a%2Fb%20c"


async def test_a_head_request_has_headers_and_no_body(front: Front) -> None:
    response = await front.client.head("/source?parts=3")
    assert response.headers["content-length"] == str(3 * 65536)
    assert response.content == b""
    assert (await front.client.get("/creator/echo")).status_code == 200


async def test_events_arrive_one_by_one(front: Front) -> None:
    async with front.client.stream("GET", "/events?pause=0.2") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        texts = response.aiter_text()
        assert await anext(texts) == "data: 1\n\n"
        assert await anext(texts) == "data: 2\n\n"
    await until(lambda: front.lamb.open == 0)


async def test_the_head_of_a_stream_arrives_before_its_body(front: Front) -> None:
    async with asyncio.timeout(5), front.client.stream("GET", "/broken?wait=1") as response:
        assert response.status_code == 200
        with pytest.raises(httpx.RemoteProtocolError):
            await response.aread()


async def test_many_requests_share_few_connections(front: Front) -> None:
    for _ in range(20):
        assert (await front.client.get("/creator/echo")).status_code == 200
    assert len(front.lamb.requests) == 20


@pytest.mark.parametrize("origin", ["https://page.example", "https://other.example"])
async def test_lamb_answers_for_its_own_cross_origin_rules(origin: str) -> None:
    async with (
        lamb(server_port()) as behind,
        gateway(lamb_url=behind.url, cors_origins=["https://page.example"]) as bench,
    ):
        front = Front(bench, behind)
        response = await front.client.get("/creator/echo", headers={"origin": origin})
        assert "access-control-allow-origin" not in response.headers
        own = await front.client.get("/status", headers={"origin": origin})
        allowed = own.headers.get("access-control-allow-origin")
        assert (allowed == origin) == (origin == "https://page.example")


async def test_the_key_of_the_operator_is_the_key_of_lamb_and_passes(front: Front) -> None:
    assert headers_of(await front.echo(), "authorization") == [f"Bearer {KEY}"]


async def test_trials_on_lambs_pages_are_heddle_s_if_the_operator_says_so() -> None:
    settings: dict[str, Any] = {"lamb_jwt_secret": SECRET, "lamb_chats": "heddle"}
    async with lamb(server_port()) as behind, gateway(lamb_url=behind.url, **settings) as bench:
        path = "/creator/assistant/7/chat/completions"
        body = {"messages": [{"role": "user", "content": "Why?"}]}
        answer = await bench.client.post(f"{path}/", json=body)
        assert answer.json()["object"] == "chat.completion"
        assert bench.neighbours.orchestrator.requests[-1].assistant_reference == "lamb_assistant.7"
        assert behind.requests == []
        for method, other in (("OPTIONS", path), ("POST", f"{path}/more"), ("POST", path[:-2])):
            await bench.client.request(method, other)
            assert behind.requests.pop() == f"{method} {other}"


def test_trials_need_the_secret_of_lambs_tokens() -> None:
    with pytest.raises(ValidationError, match="HEDDLE_LAMB_JWT_SECRET"):
        LambSettings(url="http://lamb:9099", chats="heddle")
