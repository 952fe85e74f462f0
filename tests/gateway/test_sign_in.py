"""Sessions of users at the gateway: cookies, and requests of other web sites."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from gateway.accounts import ANN, CREATORS, SECRET, Bench, gateway
from gateway.conftest import KEY
from gateway.conftest import gateway as scripted_gateway
from heddle.account.v1 import account_pb2 as pb
from heddle_gateway.auth.issued_keys import CACHE_SECONDS
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.setup_link import setup_secret
from pydantic import SecretStr

PASSWORD = "correct horse battery"
OTHER_PASSWORD = "staple in another stable"
CHAT = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "hi"}]}
COOKIE = "heddle_session"


@asynccontextmanager
async def signing_in(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    """Yield a gateway whose user `ann@uni.example` has a password."""
    async with gateway(folder, "local", **settings) as bench:
        await bench.operator(
            "SetPassword", pb.SetPasswordRequest(email=ANN, organization="uni", password=PASSWORD)
        )
        yield bench


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncIterator[Bench]:
    """A gateway whose user `ann@uni.example` has a password."""
    async with signing_in(tmp_path) as running:
        yield running


async def sign_in(bench: Bench, password: str = PASSWORD, **fields: Any) -> httpx.Response:
    """Sign Ann in. The client keeps the cookie."""
    body = {"email": ANN, "password": password, **fields}
    return await bench.client.post("/login", json=body)


async def headers(bench: Bench) -> dict[str, str]:
    """Return what a page of the gateway sends with a change."""
    token = (await bench.client.get("/v1/me")).json()["csrf_token"]
    return {"x-csrf-token": token, "origin": str(bench.client.base_url).rstrip("/")}


async def ends(bench: Bench, token: str, within: float) -> None:
    """Wait until every replica refuses a token."""
    sent = {"cookie": f"{COOKIE}={token}"}
    since = time.monotonic()
    while True:  # of two requests in turn, each replica gets one
        answers = [await bench.client.get("/v1/me", headers=sent) for _ in range(2)]
        if {each.status_code for each in answers} == {401}:
            return
        assert time.monotonic() - since < within


def patience(bench: Bench) -> float:
    """Return how long a token may be valid that has ended at the gateway: cached at another one."""
    return CACHE_SECONDS + 0.3 if len(bench.accounts.calls_of_each) > 1 else 0.0


async def test_a_user_signs_in_acts_and_signs_out(bench: Bench) -> None:
    assert (await bench.client.get("/v1/me")).status_code == 401
    response = await sign_in(bench)
    assert response.status_code == 200
    me = (await bench.client.get("/v1/me")).json()
    assert me == response.json()
    assert (me["email"], me["organization"], me["role"]) == (ANN, "uni", "creator")
    assert me["organizations"] == [{"slug": "uni", "name": "uni", "role": "creator"}]
    assert me["rights"] == CREATORS
    assert me["authentication"] == "session"
    assert me["expires_at"] > time.time()
    login = {"password": True, "oidc": [], "other_system": None}
    assert me["features"] == {"login": login, "extensions": ["lamb"]}
    page = await headers(bench)
    chat = await bench.client.post("/v1/chat/completions", json=CHAT, headers=page)
    assert chat.status_code == 200
    assert bench.callers == [Identity(ANN, "uni", ("creator",))]
    left = await bench.client.post("/logout", json={}, headers=page)
    assert (left.status_code, left.json()) == (200, {"ended": 1})
    assert COOKIE not in bench.client.cookies
    assert (await bench.client.get("/v1/me")).status_code == 401


async def test_the_ways_of_signing_in_need_no_key(bench: Bench) -> None:
    response = await bench.client.get("/login")
    ways = {"password": True, "oidc": [], "other_system": None}
    assert response.json() == {**ways, "setup": True}


async def test_the_first_operator_makes_an_account_with_the_link_and_is_signed_in(
    bench: Bench,
) -> None:
    body = {
        "email": "First@Uni.example",
        "password": PASSWORD,
        "secret": setup_secret(SecretStr(SECRET)),
    }
    wrong = await bench.client.post("/login/operator", json={**body, "secret": "guessed"})
    assert (wrong.status_code, COOKIE in bench.client.cookies) == (403, False)
    me = (await bench.client.post("/login/operator", json=body)).json()
    assert (me["email"], me["organization"]) == ("first@uni.example", "default")
    assert "manage_installation" in me["rights"]
    assert (await bench.client.get("/v1/me")).json() == me
    listed = (await bench.client.get("/organizations")).json()["organizations"]
    assert "default" in [each["slug"] for each in listed]
    assert not (await bench.client.get("/login")).json()["setup"]
    page = await headers(bench)
    again = await bench.client.post("/login/operator", json=body, headers=page)
    assert again.status_code == 409


async def test_passwords_can_be_switched_off(tmp_path: Path) -> None:
    async with signing_in(tmp_path, password_login=False) as bench:
        assert (await bench.client.get("/login")).json()["password"] is False
        assert (await sign_in(bench)).status_code == 501


@pytest.mark.parametrize(
    ("url", "name", "secure"),
    [
        ("", "heddle_session", False),
        ("http://heddle.example", "heddle_session", False),
        ("https://heddle.example/base", "__Host-heddle_session", True),
    ],
)
async def test_the_cookie_is_for_this_gateway_alone(
    tmp_path: Path, url: str, name: str, *, secure: bool
) -> None:
    async with signing_in(tmp_path, public_url=url) as bench:
        cookie = (await sign_in(bench)).headers["set-cookie"]
    first, *attributes = cookie.split("; ")
    assert first.startswith(f"{name}=hs_")
    expected = {"Path=/", "HttpOnly", "SameSite=Strict"} | ({"Secure"} if secure else set())
    assert {each for each in attributes if not each.startswith("Max-Age=")} == expected
    assert "Max-Age=604800" in attributes or "Max-Age=604799" in attributes


async def test_a_token_of_another_person_does_not_survive_signing_in(bench: Bench) -> None:
    """An attacker who puts a token into the browser does not share the session of the victim."""
    await sign_in(bench)
    planted = str(bench.client.cookies[COOKIE])
    await sign_in(bench)
    assert bench.client.cookies[COOKIE] != planted
    for token in (planted, "hs_chosen_by_an_attacker"):
        response = await bench.client.get("/v1/me", headers={"cookie": f"{COOKIE}={token}"})
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "session_ended"


async def test_an_unknown_token_does_not_become_a_session(bench: Bench) -> None:
    bench.client.cookies.set(COOKIE, "hs_0123456789abcdef_" + "x" * 43, domain="127.0.0.1")
    await sign_in(bench)
    assert "x" * 43 not in str(bench.client.cookies.jar)


async def test_failures_have_one_status_and_message(bench: Bench) -> None:
    await bench.user("ben@uni.example", disabled=True)
    answers = [
        await sign_in(bench, "wrong password"),
        await sign_in(bench, email="nobody@uni.example"),
        await sign_in(bench, email="ben@uni.example"),
        await sign_in(bench, organization="nowhere"),
    ]
    assert {each.status_code for each in answers} == {401}
    assert len({each.text for each in answers}) == 1
    assert answers[0].json()["error"]["code"] == "sign_in_failed"
    assert not bench.client.cookies


async def test_repeated_failures_are_refused_with_the_time_to_wait(bench: Bench) -> None:
    for _ in range(10):
        assert (await sign_in(bench, "wrong password")).status_code == 401
    response = await sign_in(bench)
    assert response.status_code == 429
    assert 0 < int(response.headers["retry-after"]) <= 900


async def test_clients_behind_a_trusted_proxy_fail_apart(tmp_path: Path) -> None:
    async with signing_in(tmp_path, trusted_proxies="127.0.0.0/8") as bench:
        for number in range(51):
            client = {"x-forwarded-for": "203.0.113.9, 192.0.2.1"}
            body = {"email": f"user{number}@uni.example", "password": "wrong password"}
            response = await bench.client.post("/login", json=body, headers=client)
            assert response.status_code == (401 if number < 50 else 429)
        client = {"x-forwarded-for": "192.0.2.1, 203.0.113.9"}
        body = {"email": ANN, "password": PASSWORD}
        response = await bench.client.post("/login", json=body, headers=client)
        assert response.status_code == 200


async def test_a_change_needs_the_token_of_its_own_session(bench: Bench) -> None:
    await sign_in(bench)
    other = (await headers(bench))["x-csrf-token"]
    bench.client.cookies.clear()
    await sign_in(bench)
    page = await headers(bench)
    for token in (None, "", other, page["x-csrf-token"][:-1], "é"):
        sent = {name: value for name, value in page.items() if name != "x-csrf-token"}
        if token is not None:
            sent["x-csrf-token"] = token.encode("latin-1")  # type: ignore[assignment] # httpx takes bytes
        response = await bench.client.post("/v1/chat/completions", json=CHAT, headers=sent)
        assert response.status_code == 403
        assert "x-csrf-token" in response.json()["error"]["message"]
    assert not bench.callers


ORIGINS = [
    ({}, 403),
    ({"origin": "OWN"}, 200),
    ({"sec-fetch-site": "same-origin"}, 200),
    ({"origin": "OWN", "sec-fetch-site": "same-origin"}, 200),
    ({"origin": "OWN", "sec-fetch-site": "cross-site"}, 403),
    ({"origin": "OWN", "sec-fetch-site": "same-site"}, 403),
    ({"origin": "https://evil.example"}, 403),
    ({"origin": "https://evil.example", "sec-fetch-site": "same-origin"}, 403),
    ({"origin": "http://127.0.0.1:1"}, 403),
    ({"origin": "http://127.0.0.1"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "OWN/"}, 403),
    ({"origin": "http://["}, 403),
]


async def test_a_change_comes_from_a_page_of_the_gateway(bench: Bench) -> None:
    await sign_in(bench)
    own = await headers(bench)
    for sent, status in ORIGINS:
        page = {name: value.replace("OWN", own["origin"]) for name, value in sent.items()}
        page["x-csrf-token"] = own["x-csrf-token"]
        response = await bench.client.post("/v1/chat/completions", json=CHAT, headers=page)
        assert response.status_code == status, sent


async def test_the_public_address_is_an_origin_of_the_gateway(tmp_path: Path) -> None:
    async with signing_in(tmp_path, public_url="http://heddle.example:80/base") as bench:
        await sign_in(bench)
        page = await headers(bench)
        for origin, status in (("http://heddle.example", 200), ("https://heddle.example", 403)):
            response = await bench.client.post(
                "/v1/chat/completions", json=CHAT, headers={**page, "origin": origin}
            )
            assert response.status_code == status


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
async def test_a_page_of_another_program_reads_nothing_with_the_cookie(
    bench: Bench, site: str
) -> None:
    await sign_in(bench)
    for sent, status in (({}, 200), ({"sec-fetch-site": site}, 401)):
        assert (await bench.client.get("/v1/models", headers=sent)).status_code == status


async def test_a_listed_origin_gets_no_credentials(tmp_path: Path) -> None:
    origin = "https://chat.example"
    async with signing_in(tmp_path, cors_origins=(origin,)) as bench:
        await sign_in(bench)
        page = {**await headers(bench), "origin": origin}
        response = await bench.client.get("/v1/me", headers=page)
        assert "access-control-allow-credentials" not in response.headers
        chat = await bench.client.post("/v1/chat/completions", json=CHAT, headers=page)
        assert chat.status_code == 403


@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_another_web_site_cannot_sign_a_browser_in_or_out(bench: Bench, origin: str) -> None:
    body = {"email": ANN, "password": PASSWORD}
    response = await bench.client.post("/login", json=body, headers={"origin": origin})
    assert response.status_code == 403
    await sign_in(bench)
    for sent in ({"origin": origin}, {}):
        assert (await bench.client.post("/logout", json={}, headers=sent)).status_code == 403
    assert (await bench.client.get("/v1/me")).status_code == 200


async def test_the_header_comes_before_the_cookie(bench: Bench) -> None:
    await sign_in(bench)
    for key, status in ((KEY, 200), ("unknown", 401), ("", 401)):
        sent = {"authorization": f"Bearer {key}".strip()}
        response = await bench.client.get("/v1/me", headers=sent)
        assert response.status_code == status
        if status == 200:
            assert response.json()["authentication"] == "key"
    sent = {"authorization": f"Bearer {KEY}", "origin": "https://any.example"}
    chat = await bench.client.post("/v1/chat/completions", json=CHAT, headers=sent)
    assert chat.status_code == 200
    assert bench.callers == [Identity("operator", scopes=("admin",), key_id="settings")]


async def test_two_tokens_are_none(bench: Bench) -> None:
    await sign_in(bench)
    token = bench.client.cookies[COOKIE]
    twice = {"cookie": f"{COOKIE}={token}; {COOKIE}=hs_other"}
    bench.client.cookies.clear()
    assert (await bench.client.get("/v1/me", headers=twice)).status_code == 401


async def test_signing_out_everywhere_ends_all_sessions_within_two_seconds(bench: Bench) -> None:
    await sign_in(bench)
    first = bench.client.cookies[COOKIE]
    bench.client.cookies.clear()
    await sign_in(bench)
    page = await headers(bench)
    response = await bench.client.post("/logout", json={"everywhere": True}, headers=page)
    assert response.json() == {"ended": 2}
    await ends(bench, first, CACHE_SECONDS + 0.3)


async def test_a_user_acts_in_another_organisation(bench: Bench) -> None:
    await bench.organization("evil")
    await bench.add(ANN, "evil", role="admin")
    await sign_in(bench)
    former = bench.client.cookies[COOKIE]
    page = await headers(bench)
    response = await bench.client.post(
        "/login/organization", json={"organization": "evil"}, headers=page
    )
    me = response.json()
    assert (me["organization"], me["role"]) == ("evil", "admin")
    assert [each["slug"] for each in me["organizations"]] == ["uni", "evil"]
    assert "manage_organization" in me["rights"]
    assert "manage_installation" not in me["rights"]
    assert bench.client.cookies[COOKIE] != former
    await ends(bench, former, patience(bench))
    response = await bench.client.post(
        "/login/organization", json={"organization": "nowhere"}, headers=await headers(bench)
    )
    assert response.status_code == 404


async def test_a_user_changes_the_password_and_stays_signed_in(bench: Bench) -> None:
    await sign_in(bench)
    former = bench.client.cookies[COOKIE]
    body = {"current_password": "wrong password", "password": OTHER_PASSWORD}
    url, page = "/v1/me/password", await headers(bench)
    refused = await bench.client.put(url, json=body, headers=page)
    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == "current_password"
    body["current_password"] = PASSWORD
    assert (await bench.client.put(url, json=body, headers=page)).status_code == 200
    assert bench.client.cookies[COOKIE] != former
    assert (await bench.client.get("/v1/me")).status_code == 200
    await ends(bench, former, patience(bench))
    assert (await sign_in(bench)).status_code == 401
    assert (await sign_in(bench, OTHER_PASSWORD)).status_code == 200


async def test_administrators_reset_a_password(bench: Bench) -> None:
    url = f"/organizations/uni/users/{ANN}/password"
    head = {"authorization": f"Bearer {(await bench.key(scopes=['organization_admin'])).secret}"}
    response = await bench.client.post(url, json={}, headers=head)
    assert response.status_code == 200
    generated = response.json()["password"]
    assert (await sign_in(bench, generated)).status_code == 200
    response = await bench.client.post(url, json={"password": PASSWORD}, headers=head)
    assert response.json() == {"password": None}
    ann = {"authorization": f"Bearer {(await bench.key(user=ANN)).secret}"}
    refused = await bench.client.post(url, json={}, headers=ann)
    assert refused.status_code == 404
    unknown = await bench.client.post(url.replace(ANN, "x@y"), json={}, headers=head)
    assert unknown.status_code == 404


async def test_who_has_a_key_reads_what_it_stands_for(bench: Bench) -> None:
    key = await bench.key(user=ANN, expire_time={"seconds": 4_000_000_000})
    head = await bench.key(scopes=["organization_admin"])
    seen = []
    for secret in (key.secret, head.secret, KEY):
        sent = {"authorization": f"Bearer {secret}"}
        seen.append((await bench.client.get("/v1/me", headers=sent)).json())
    ann, application, operator = seen
    assert (ann["email"], ann["role"], ann["expires_at"]) == (ANN, "creator", 4_000_000_000)
    assert (application["email"], application["role"]) == (None, None)
    assert "manage_assistants" not in application["rights"]
    assert "manage_keys" in application["rights"]
    assert operator["rights"][-1] == "manage_installation"
    assert {each["authentication"] for each in seen} == {"key"}
    assert {each["csrf_token"] for each in seen} == {None}
    switch = await bench.client.post(
        "/login/organization",
        json={"organization": "uni"},
        headers={"authorization": f"Bearer {key.secret}"},
    )
    assert switch.status_code == 400


async def test_development_has_its_own_pages_and_no_session() -> None:
    async with scripted_gateway(development=True) as bench:
        me = await bench.client.get("/v1/me", headers={"authorization": ""})
        assert me.json()["authentication"] == "development"
        own = {"authorization": "", "origin": str(bench.client.base_url)}
        assert (await bench.chat(own)).status_code == 200
        for origin in ("https://evil.example", "http://127.0.0.1:1", "null"):
            assert (await bench.chat({**own, "origin": origin})).status_code == 403


async def test_a_cookie_that_has_ended_leaves_development_as_it_is() -> None:
    async with scripted_gateway(development=True) as bench:
        sent = {"authorization": "", "cookie": "other=1"}
        assert (await bench.client.get("/v1/me", headers=sent)).status_code == 200


async def test_sessions_are_in_no_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with signing_in(tmp_path) as bench:
        await sign_in(bench)
        token = str(bench.client.cookies[COOKIE])
        page = await headers(bench)
        await bench.client.post("/logout", json={}, headers=page)
        logged = bench.logged()
    logs = "".join([logged, *capfd.readouterr()])
    assert "session.create" in logs
    for secret in (PASSWORD, token.split("_", 2)[2], page["x-csrf-token"]):
        assert secret not in logs


async def test_the_document_says_how_browsers_authenticate(bench: Bench) -> None:
    document = (await bench.client.get("/openapi.json")).json()
    scheme = document["components"]["securitySchemes"]["session"]
    assert (scheme["in"], scheme["name"]) == ("cookie", COOKIE)
    assert document["security"] == [{"key": []}, {"session": []}]
    assert document["paths"]["/login"]["post"]["security"] == []
