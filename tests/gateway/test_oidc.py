"""Signing in with OpenID Connect: what the gateway sends, and what it accepts of a provider."""

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlsplit

import httpx
import pytest
import yaml
from gateway.accounts import ANN, Bench, gateway
from gateway.replicas import server_port
from heddle_gateway.auth.browsers import Flow, FlowCookies
from heddle_gateway.auth.oidc.configuration import ProviderConfiguration, read_providers
from heddle_gateway.auth.oidc.provider import IdentityProvider
from heddle_gateway.login.pages import MAX_RETURN_CHARACTERS, is_place_here
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from pydantic import SecretStr

CLIENT, SECRET = "heddle", "a secret: of the client"
NEW = "new@uni.example"


@dataclass
class Provider:
    """A small provider over HTTP, which can be told to answer wrongly."""

    issuer: str = ""
    key: ECKey = field(default_factory=lambda: ECKey.generate_key("P-256", {"kid": "1"}))
    claims: dict[str, Any] = field(default_factory=dict)
    """They replace members of the ID token; None removes one."""
    signed_by: Callable[[dict[str, Any]], str] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    user_info: dict[str, Any] = field(default_factory=dict)
    token_requests: list[tuple[dict[str, str], dict[str, str]]] = field(default_factory=list)
    authorizations: dict[str, dict[str, str]] = field(default_factory=dict)
    """The queries of browsers, by the code that each has got."""

    def authorize(self, url: str) -> str:
        """Let a browser sign in, and return where it goes then."""
        query = dict(parse_qsl(urlsplit(url).query))
        code = hashlib.sha256(query["state"].encode()).hexdigest()
        self.authorizations[code] = query
        return f"{query['redirect_uri']}?code={code}&state={query['state']}&iss={self.issuer}"

    def answer(self, path: str, headers: dict[str, str], body: str) -> Any:
        """Return the JSON of a path."""
        match path:
            case "/.well-known/openid-configuration":
                return {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize?tenant=1",
                    "token_endpoint": f"{self.issuer}/token",
                    "jwks_uri": f"{self.issuer}/keys",
                    "userinfo_endpoint": f"{self.issuer}/me",
                } | self.metadata
            case "/keys":
                broken = {"kty": "unknown", "kid": "0"}
                return {"keys": [broken, self.key.as_dict(private=False)]}
            case "/me":
                return self.user_info
            case _:
                return self.tokens(headers, dict(parse_qsl(body)))

    def tokens(self, headers: dict[str, str], form: dict[str, str]) -> dict[str, str]:
        """Exchange a code."""
        self.token_requests.append((headers, form))
        query = self.authorizations[form["code"]]
        challenge = hashlib.sha256(form["code_verifier"].encode()).digest()
        encoded = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        assert encoded == query["code_challenge"]
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": "1",
            "iat": now,
            "exp": now + 60,
            "nonce": query["nonce"],
            "email": ANN,
            "email_verified": True,
        } | self.claims
        claims = {name: value for name, value in claims.items() if value is not None}
        sign = self.signed_by or self.sign
        return {"id_token": sign(claims), "access_token": "access", "token_type": "Bearer"}

    def sign(self, claims: dict[str, Any]) -> str:
        """Return an ID token as a provider signs it."""
        return jwt.encode({"alg": "ES256", "kid": self.key.kid}, claims, self.key)


@asynccontextmanager
async def serving(provider: Provider, port: int) -> AsyncGenerator[None]:
    """Run a provider."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._respond("")

        def do_POST(self) -> None:
            self._respond(self.rfile.read(int(self.headers["content-length"])).decode())

        def _respond(self, body: str) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            text = json.dumps(provider.answer(urlsplit(self.path).path, headers, body)).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    provider.issuer = f"http://127.0.0.1:{server.server_port}"
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()


@asynccontextmanager
async def signing_in(
    folder: Path,
    configuration: dict[str, Any] | None = None,
    port: int | None = None,
    **settings: Any,
) -> AsyncGenerator[tuple[Bench, Provider]]:
    """Yield a gateway with a provider."""
    provider = Provider()
    async with serving(provider, server_port() if port is None else port):
        file = folder / "providers.yaml"
        entry = {
            "id": "sso",
            "title": "The <University>",
            "issuer": provider.issuer,
            "client_id": CLIENT,
            "client_secret": SECRET,
        }
        file.write_text(yaml.safe_dump([entry | (configuration or {})]))
        networks = {"HEDDLE_ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8"}
        async with gateway(
            folder, "local", **{"oidc_providers": file, **networks, **settings}
        ) as bench:
            yield bench, provider


async def start(bench: Bench, **query: str) -> httpx.Response:
    """Send the browser to the provider."""
    return await bench.client.get("/login/oidc/sso", params=query)


async def sign_in(bench: Bench, provider: Provider, **query: str) -> httpx.Response:
    """Sign in, and return the page at the end."""
    started = await start(bench, **query)
    assert started.status_code == 303, started.text
    return await bench.client.get(provider.authorize(started.headers["location"]))


async def test_a_verified_address_signs_in(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        started = await start(bench, return_to="/studio/?a=1&b=<2>")
        flow = started.headers["set-cookie"]
        assert flow.endswith("; Path=/; Max-Age=600; HttpOnly; SameSite=Lax")
        query = parse_qs(urlsplit(started.headers["location"]).query)
        assert (query["code_challenge_method"], query["tenant"]) == (["S256"], ["1"])
        assert query["scope"] == ["openid email profile"]
        page = await bench.client.get(provider.authorize(started.headers["location"]))
        assert page.status_code == 200
        assert 'content="0; url=/studio/?a=1&amp;b=&lt;2&gt;"' in page.text
        assert page.headers["content-security-policy"].startswith("default-src 'none'")
        cookies = page.headers.get_list("set-cookie")
        assert [each.split("=")[0] for each in cookies] == ["heddle_session", "heddle_oidc"]
        assert "SameSite=Strict" in cookies[0]
        assert "Max-Age=0" in cookies[1]
        me = (await bench.client.get("/v1/me")).json()
        assert (me["email"], me["authentication"]) == (ANN, "session")
    [(headers, form)] = provider.token_requests
    basic = base64.b64decode(headers["authorization"].removeprefix("Basic ")).decode()
    assert basic == "heddle:a%20secret%3A%20of%20the%20client"
    assert SECRET not in str(form)


@pytest.mark.parametrize(
    ("claim", "groups"),
    [(["bio-1", 7, "x"], ["bio-1", "x"]), ("bio-1", ["bio-1"]), (None, []), ({"a": 1}, [])],
)
async def test_a_provider_says_the_groups_of_a_user(claim: object, groups: list[str]) -> None:
    provider = Provider(claims={"groups": claim})
    async with serving(provider, 0):
        configuration = ProviderConfiguration(
            id="sso",
            title="Uni",
            issuer=provider.issuer,
            client_id=CLIENT,
            client_secret=SecretStr(SECRET),
        )
        known = IdentityProvider(configuration, [ip_network("127.0.0.0/8")])
        flow = Flow("sso", "/studio/", "", "http://127.0.0.1/callback")
        url = provider.authorize(await known.authorization_url(flow))
        code = parse_qs(urlsplit(url).query)["code"][0]
        assert list((await known.user(flow, code, provider.issuer)).groups) == groups


async def test_cookies_are_secure_behind_https(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"public_url": "https://heddle.example/base/"}
    async with signing_in(tmp_path, **settings) as (bench, _):
        started = await start(bench)
        cookie = started.headers["set-cookie"]
        assert cookie.startswith("__Host-heddle_oidc=")
        assert cookie.endswith("; Secure")
        query = parse_qs(urlsplit(started.headers["location"]).query)
        callback = "https://heddle.example/base/login/oidc/sso/callback"
        assert query["redirect_uri"] == [callback]


def _unsigned(claims: dict[str, Any]) -> str:
    parts = ({"alg": "none"}, claims)
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()) for part in parts)
    return ".".join(part.rstrip(b"=").decode() for part in encoded) + "."


def _signed_with_the_secret(claims: dict[str, Any]) -> str:
    return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET * 2))


def _signed_by_another(claims: dict[str, Any]) -> str:
    key = ECKey.generate_key("P-256", {"kid": "1"})
    return jwt.encode({"alg": "ES256", "kid": "1"}, claims, key)


WRONG: list[dict[str, Any]] = [
    {"claims": {"iss": "https://evil.example"}},
    {"claims": {"aud": "another"}},
    {"claims": {"aud": [CLIENT, "another"]}},
    {"claims": {"aud": [CLIENT, "another"], "azp": "another"}},
    {"claims": {"nonce": "another"}},
    {"claims": {"nonce": None}},
    {"claims": {"exp": 1}},
    {"claims": {"exp": None}},
    {"claims": {"iat": 4_000_000_000}},
    {"signed_by": _unsigned},
    {"signed_by": _signed_with_the_secret},
    {"signed_by": _signed_by_another},
    {"signed_by": lambda _: "no token"},
    {"metadata": {"issuer": "https://evil.example"}},
    {"metadata": {"token_endpoint": "ftp://evil.example"}},
    {"metadata": {"jwks_uri": None}},
    {"claims": {"email": None}, "user_info": {"sub": "2", "email": ANN}},
]


@pytest.mark.parametrize("number", range(len(WRONG)))
async def test_what_a_provider_does_not_prove_signs_nobody_in(tmp_path: Path, number: int) -> None:
    fields = WRONG[number]
    port = 0 if "metadata" in fields else None  # no gateway knows that of a new provider
    async with signing_in(tmp_path, port=port) as (bench, provider):
        for name, value in fields.items():
            setattr(provider, name, value)
        started = await start(bench)
        if started.status_code == 303:
            started = await bench.client.get(provider.authorize(started.headers["location"]))
        assert started.status_code == 502
        assert "heddle_session" not in bench.client.cookies


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"email_verified": False}, "has not verified"),
        ({"email_verified": None}, "has not verified"),
        ({"email": "no address"}, "does not say your e-mail address"),
        ({"email": "nobody@uni.example"}, "No user has the address"),
        ({"email": "ben@uni.example"}, "or the user is disabled"),
    ],
)
async def test_a_page_says_why_a_user_is_not_signed_in(
    tmp_path: Path, claims: dict[str, Any], message: str
) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        await bench.user("ben@uni.example", disabled=True)
        provider.claims = claims
        page = await sign_in(bench, provider)
        assert page.status_code == 403
        assert message in page.text
        assert "<University>" not in page.text
        assert "heddle_session" not in bench.client.cookies


async def test_the_claims_of_the_user_endpoint_count_too(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        provider.claims = {"email": None, "email_verified": None}
        provider.user_info = {"sub": "1", "email": ANN, "email_verified": "true"}
        assert (await sign_in(bench, provider)).status_code == 200


async def test_new_keys_of_a_provider_are_read_once(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        assert (await sign_in(bench, provider)).status_code == 200
        provider.key = ECKey.generate_key("P-256", {"kid": "2"})
        assert (await sign_in(bench, provider)).status_code == 200


async def test_an_attempt_of_another_browser_or_time_is_refused(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        started = await start(bench)
        url = provider.authorize(started.headers["location"])
        for changed in (url.replace("state=", "state=x"), url.replace("state=", "other=")):
            assert (await bench.client.get(changed)).status_code == 400
        assert (await bench.client.get(url)).status_code == 400  # the attempt has ended
        bench.client.cookies.clear()
        assert (await bench.client.get(url)).status_code == 400
        assert not provider.token_requests


async def test_a_response_of_another_issuer_is_refused(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        started = await start(bench)
        url = provider.authorize(started.headers["location"]).partition("&iss=")[0]
        page = await bench.client.get(f"{url}&iss=https://evil.example")
        assert page.status_code == 502
        assert not provider.token_requests


async def test_a_user_who_declines_reads_so(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, provider):
        started = await start(bench)
        url = provider.authorize(started.headers["location"])
        page = await bench.client.get(url.replace("code=", "error=access_denied<b>&x="))
        assert page.status_code == 403
        assert "access_denied&lt;b&gt;" in page.text


async def test_unknown_providers_and_places_are_refused(tmp_path: Path) -> None:
    async with signing_in(tmp_path) as (bench, _):
        for path in ("/login/oidc/other", "/login/oidc/other/callback"):
            assert (await bench.client.get(path)).status_code == 404
        for place in ("https://evil.example", "//evil.example", "/\\evil.example", ""):
            assert (await start(bench, return_to=place)).status_code == 400


@pytest.mark.parametrize("size", [-1, 0, 1])
def test_the_place_to_return_to_has_a_length(size: int) -> None:
    path = "/" * 1 + "a" * (MAX_RETURN_CHARACTERS - 1 + size)
    assert is_place_here(path) == (size <= 0)


async def test_providers_are_reached_in_allowed_networks_only(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"HEDDLE_ALLOWED_PRIVATE_NETWORKS": ""}
    async with signing_in(tmp_path, **settings) as (bench, provider):
        assert (await start(bench)).status_code == 502
        assert not provider.authorizations


async def test_a_provider_that_does_not_answer_is_reported(tmp_path: Path) -> None:
    async with signing_in(tmp_path, {"issuer": "http://127.0.0.1:1"}) as (bench, _):
        page = await start(bench)
        assert page.status_code == 503
        assert page.headers["retry-after"] == "1"
        assert "cannot be reached" in page.text


async def test_a_provider_signs_in_addresses_of_its_domains_only(tmp_path: Path) -> None:
    async with signing_in(tmp_path, {"domains": ["other.example"]}) as (bench, provider):
        page = await sign_in(bench, provider)
        assert page.status_code == 403
        assert "uni.example" in page.text


async def test_a_provider_of_an_organisation_opens_only_that_one(tmp_path: Path) -> None:
    async with signing_in(tmp_path, {"organizations": ["evil"]}) as (bench, provider):
        assert (await sign_in(bench, provider)).status_code == 403
        await bench.organization("evil")
        await bench.add(ANN, "evil")
        assert (await sign_in(bench, provider)).status_code == 200
        me = (await bench.client.get("/v1/me")).json()
        assert [each["slug"] for each in me["organizations"]] == ["evil"]


@pytest.mark.parametrize(
    ("rule", "claims", "role"),
    [
        ({}, {}, "member"),
        ({"domains": ["uni.example"], "role": "creator"}, {}, "creator"),
        ({"domains": ["other.example"]}, {}, None),
        ({"claim": "groups", "values": ["staff"]}, {"groups": ["staff", "x"]}, "member"),
        ({"claim": "group", "values": ["staff"]}, {"group": "staff"}, "member"),
        ({"claim": "groups", "values": ["staff"]}, {"groups": ["students"]}, None),
        ({"claim": "groups", "values": ["staff"]}, {}, None),
    ],
)
async def test_rules_create_users(
    tmp_path: Path, rule: dict[str, Any], claims: dict[str, Any], role: str | None
) -> None:
    configuration = {"new_users": [{"organization": "uni", **rule}]}
    async with signing_in(tmp_path, configuration) as (bench, provider):
        provider.claims = {"email": NEW, "name": "New\u0007 User", **claims}
        page = await sign_in(bench, provider)
        assert page.status_code == (403 if role is None else 200)
        if role is not None:
            me = (await bench.client.get("/v1/me")).json()
            assert (me["email"], me["name"], me["role"]) == (NEW, "New User", role)


async def test_an_imported_password_is_not_needed(tmp_path: Path) -> None:
    """Users of a provider have no password, and cannot be signed in with one."""
    async with signing_in(tmp_path) as (bench, provider):
        assert (await sign_in(bench, provider)).status_code == 200
        body = {"email": ANN, "password": "any password"}
        assert (await bench.client.post("/login", json=body)).status_code == 401


async def test_the_cookie_of_an_attempt_is_encrypted_and_ends() -> None:
    flow = Flow("sso", "/", "", "http://gateway/callback")
    one, other = (FlowCookies(SecretStr(text * 32)) for text in "ab")
    value = one.seal(flow)
    for part in (flow.state, flow.nonce, flow.verifier):
        assert part not in value
    assert FlowCookies(SecretStr("a" * 32)).open(value) == flow
    assert other.open(value) is None
    assert one.open("") is None
    assert one.open(value[:-2]) is None
    assert one.open(one.seal(Flow("sso", "/", "", "x", ends_at=1))) is None


async def test_gateways_accept_attempts_of_one_another_while_the_secret_is_replaced() -> None:
    former, new = "a" * 32, "b" * 32
    orders = [f"{former},{new}", f"{new},{former}"]
    one, other = (FlowCookies(SecretStr(each)) for each in orders)
    flow = Flow("sso", "/", "", "http://gateway/callback")
    assert other.open(one.seal(flow)) == one.open(other.seal(flow)) == flow
    assert FlowCookies(SecretStr(former)).open(other.seal(flow)) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{}", "must be a list"),
        ("[", "cannot be read"),
        ("- {id: a}", "provider 1"),
        (
            "- &a {id: a, title: A, issuer: 'https://a', client_id: c}\n- *a",
            "the same id",
        ),
        ("- {id: a, title: A, issuer: 'ftp://a', client_id: c}", "http or https"),
        ("- {id: a, title: A, issuer: 'https://a', client_id: c, other: 1}", "other"),
    ],
)
def test_a_wrong_file_is_named(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "providers.yaml"
    file.write_text(text)
    with pytest.raises(ValueError, match=problem):
        read_providers(file, ProviderConfiguration)
