"""Who is let in, and in whose name the services are called."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from gateway.conftest import KEY, Bench, Start, gateway
from heddle_gateway.app import GatewaySettings
from heddle_gateway.auth.keys_file import Keyring, Principal, configured_keys, read_keys
from heddle_migration_service.proxy.settings import LambSettings
from heddle_runtime.identity.callers import Identity
from pydantic import SecretStr, ValidationError

SECRET = "s" * 32
OTHER_KEY = "the-key-of-lamb-16"


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": ""},
        {"authorization": "Bearer"},
        {"authorization": f"Basic {KEY}"},
        {"authorization": f"Bearer {KEY}x"},
        {"authorization": "Bearer ' OR '1'='1"},
        {"authorization": 'Bearer ";--'},
        {"authorization": "Bearer " + "x" * 60_000},
        {"authorization": "Bearer \xff\xfe".encode("latin-1")},
    ],
)  # fmt: skip
async def test_nobody_gets_in_without_a_known_key(start: Start, headers: dict[str, Any]) -> None:
    async with start() as bench:
        response = await bench.chat(headers)
        assert response.status_code == 401
        assert response.json()["error"]["code"] == "invalid_api_key"
        assert KEY not in response.text
        assert not bench.orchestrator.requests


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/chat/completions"),
        ("POST", "/lamb/v1/completions?assistant=1"),
        ("GET", "/v1/models"),
        ("GET", "/v1/models/lamb_assistant.1"),
        ("GET", "/tools"),
        ("POST", "/tools/rubric/validate"),
        ("POST", "/lamb/v1/completions/tools/rubric/validate"),
    ],
)
async def test_a_key_is_asked_for_before_anything_is_done(
    start: Start, method: str, path: str
) -> None:
    async with start() as bench:
        response = await bench.client.request(method, path, headers={"authorization": "Bearer x"})
        assert response.status_code == 401


async def test_two_authorizations_are_refused(start: Start) -> None:
    async with start() as bench:
        keys = [("authorization", f"Bearer {KEY}"), ("authorization", "Bearer other")]
        for twice in (keys, keys[::-1], [keys[0], keys[0]]):
            response = await bench.client.get("/v1/models", headers=twice)
            assert response.status_code == 401


async def test_the_owner_of_a_key_is_the_caller_of_the_services(
    start: Start, transport: str, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.yaml"
    other = "lamb_other_key_0123456789"
    hashed = hashlib.sha256(other.encode()).hexdigest()
    keys.write_text(
        f"'{KEY}': {{subject: ana, organization: uni, scopes: [chat]}}\n"
        f"'sha256:{hashed}': {{subject: ben}}\n"
    )
    async with start(transport, api_key=None, api_keys=keys, secret=SECRET) as bench:
        assert (await bench.chat()).status_code == 200
        assert (await bench.chat({"authorization": f"bearer {other}"})).status_code == 200
    first, second = bench.orchestrator.callers
    assert (first.identity.subject, first.identity.organization) == ("ana", "uni")
    assert second.identity.subject == "ben"


async def test_neither_headers_nor_bodies_make_an_identity(start: Start, transport: str) -> None:
    async with start(transport, secret=SECRET) as bench:
        headers = {"x-openwebui-user-email": "admin@uni", "x-user-id": "1"}
        body = {"__openwebui_headers__": {"email": "admin@uni"}, "user": {"id": "1"}}
        assert (await bench.chat(headers, **body)).status_code == 200
    operator = Identity("operator", scopes=("admin",), key_id="settings")
    assert bench.orchestrator.callers[0].identity == operator
    assert "admin@uni" not in str(bench.orchestrator.requests[0])


@pytest.mark.parametrize("path", ["list", "tools", "tools/rubric", "orchestrators"])
@pytest.mark.parametrize("key", [KEY, "unknown", None])
async def test_lists_need_no_key(start: Start, path: str, key: str | None) -> None:
    async with start("rpc", secret=SECRET) as bench:  # the services ask for a token all the same
        headers = {"authorization": f"Bearer {key}" if key else ""}
        response = await bench.client.get(f"/lamb/v1/completions/{path}", headers=headers)
        assert response.status_code == 200


async def test_development_needs_no_key(start: Start) -> None:
    async with start(development=True) as bench:
        assert (await bench.chat({"authorization": ""})).status_code == 200
        assert (await bench.chat({"authorization": "Bearer development"})).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"origin": "https://evil.example"}, {"host": "rebound.example:8080"}, {"host": "[::1"}],
)
async def test_development_answers_no_web_page(start: Start, headers: dict[str, str]) -> None:
    async with start(development=True) as bench:
        assert (await bench.chat(headers)).status_code == 403


async def test_a_listed_web_page_may_ask(start: Start) -> None:
    page = "https://chat.example"
    async with start(development=True, cors_origins=(page,)) as bench:
        response = await bench.chat({"origin": page})
        assert response.headers["access-control-allow-origin"] == page
        preflight = await bench.client.options(
            "/v1/chat/completions",
            headers={"origin": page, "access-control-request-method": "POST"},
        )
        assert preflight.status_code == 200


async def test_who_sends_no_key_where_none_is_needed_is_nobody(
    start: Start, transport: str
) -> None:
    async with start(transport, secret=SECRET) as bench:
        response = await bench.client.get(
            "/lamb/v1/completions/orchestrators", headers={"authorization": ""}
        )
    assert response.status_code == 200
    assert [caller.identity for caller in bench.orchestrator.callers] == [Identity("nobody")]


def test_all_keys_take_the_same_steps() -> None:
    keyring = Keyring({KEY: Principal(Identity("ana"))})
    assert keyring.principal(KEY) == Principal(Identity("ana"))
    assert keyring.principal("") is None
    assert keyring.principal(KEY[:-1]) is None
    assert keyring.principal("\ud800") is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "must map"),
        ("[]", "must map"),
        ("{", "cannot be read"),
        ("short: {subject: a}", "key 1"),
        ("0123456789abcdef: {}", "subject"),
        ("0123456789abcdef: {subject: a, admin: true}", "admin"),
        ("0123456789abcdef: {subject: a, scopes: [service]}", "Heddle's own services"),
        ("0123456789abcdef: {subject: ''}", "subject"),
    ],
)
def test_a_wrong_keys_file_is_refused_without_showing_keys(
    tmp_path: Path, content: str, complaint: str
) -> None:
    path = tmp_path / "keys.yaml"
    path.write_text(content)
    with pytest.raises(ValueError, match=complaint) as caught:
        read_keys(path)
    assert "0123456789abcdef" not in str(caught.value)


def test_a_keys_file_may_be_json(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({KEY: {"subject": "ana", "scopes": ["a"], "trusted": True}}))
    ana = Identity("ana", scopes=("a",), key_id="file:1")
    assert read_keys(path) == {KEY: Principal(ana, trusted=True)}


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"development": True, "listen": "[::]:1", "HEDDLE_IDENTITY_SECRET": KEY * 2}, "develop"),
        ({"api_key": SecretStr("too-short")}, "at least 16"),
        ({"api_key": SecretStr(KEY), "listen": "unix:/tmp/x"}, "host:port"),
        ({"trusted_api_key": SecretStr("too-short")}, "at least 16"),
    ],
)  # fmt: skip
def test_there_is_no_open_door_by_default(given: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        GatewaySettings.model_validate(given)


@pytest.mark.parametrize(
    ("api_key", "trusted", "more", "complaint"),
    [
        ("", "", "", "set HEDDLE_GATEWAY_API_KEY"),
        (KEY, KEY, "", "generate another key"),
        ("", KEY, KEY, "generate another key"),
    ],
)
def test_a_gateway_needs_a_key_and_another_one_for_open_webui(
    api_key: str, trusted: str, more: str, complaint: str
) -> None:
    settings = GatewaySettings.model_validate(
        {"api_key": api_key or None, "trusted_api_key": trusted or None}
    )
    with pytest.raises(ValueError, match=complaint):
        configured_keys(settings, [SecretStr(more)] if more else [])


@pytest.mark.parametrize("name", ["LAMB_BEARER_TOKEN", "PIPELINES_BEARER_TOKEN"])
async def test_the_key_of_a_lamb_installation_serves(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, OTHER_KEY)
    async with gateway("local", api_key=None) as bench:
        headers = {"authorization": f"Bearer {OTHER_KEY}"}
        assert (await bench.chat(headers)).status_code == 200
    async with gateway("local") as bench:
        assert (await bench.chat(headers)).status_code == 401


@pytest.mark.parametrize("name", ["LAMB_BEARER_TOKEN", "PIPELINES_BEARER_TOKEN"])
def test_the_key_that_lamb_documents_opens_nothing(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "0p3n-w3bu!")
    with pytest.raises(ValidationError, match="public documentation"):
        LambSettings()


async def test_keys_are_in_no_log(bench: Bench, capfd: pytest.CaptureFixture[str]) -> None:
    await bench.chat()
    await bench.chat({"authorization": "Bearer lamb_wrong_key_0123456789"})
    assert "0123456789" not in "".join((*capfd.readouterr(), bench.log))
