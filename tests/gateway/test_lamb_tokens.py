"""LAMB's tokens of users at the routes of Heddle."""

import json
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from gateway.accounts import ANN, CREATORS, Bench, gateway
from gateway.replicas import server_port
from heddle_migration_service.proxy.settings import LambSettings
from lamb_stand_in.server import lamb
from lamb_stand_in.tokens import SECRET, signed, token, unsigned
from pydantic import ValidationError

KEY = "a-key-of-16-characters"
SOON = int(time.time()) + 3600
CLAIMS = {"sub": "1", "email": ANN, "role": "user", "exp": SOON}
HS256 = {"alg": "HS256", "typ": "JWT"}


@asynccontextmanager
async def front(folder: Path, **settings: Any) -> AsyncGenerator[Bench]:
    """Yield a gateway in front of LAMB whose user is Ann."""
    async with lamb(server_port()) as behind:
        options = {"lamb_url": behind.url, "lamb_jwt_secret": SECRET, **settings}
        async with gateway(folder, "local", **options) as bench:
            yield bench


async def me(bench: Bench, sent: str) -> Any:
    """Return what a token is at `/v1/me`, None if it is nothing."""
    headers = {"authorization": f"Bearer {sent}"}
    response = await bench.client.get("/v1/me", headers=headers)
    if response.status_code == 401:
        return None
    assert response.status_code == 200, response.text
    return response.json()


async def test_a_token_identifies_the_user_of_its_address(tmp_path: Path) -> None:
    async with front(tmp_path) as bench:
        known = await me(bench, token("Ann@Uni.example", role="admin"))
        assert (known["email"], known["organization"], known["role"]) == (ANN, "uni", "creator")
        assert known["rights"] == CREATORS
        assert abs(known["expires_at"] - time.time() - 7 * 24 * 3600) < 60
        response = await bench.chat(token(ANN))
        assert response.status_code == 200
        assert (bench.callers[0].subject, bench.callers[0].organization) == (ANN, "uni")


async def test_the_rights_of_an_administrator_are_those_of_the_own_organisation(
    tmp_path: Path,
) -> None:
    async with front(tmp_path) as bench:
        boss = "boss@uni.example"  # gateways may have cached what Ann may do
        await bench.user(boss, role="admin")
        rights = (await me(bench, token(boss)))["rights"]
        assert "manage_users" in rights
        assert "manage_installation" not in rights


async def test_a_token_of_lamb_is_valid_in_lamb_and_in_heddle(tmp_path: Path) -> None:
    async with front(tmp_path) as bench:
        headers = {"authorization": f"Bearer {token(ANN)}"}
        own = await bench.client.get("/creator/me", headers=headers)
        assert own.json()["data"]["email"] == ANN
        assert (await bench.client.get("/v1/models", headers=headers)).status_code == 200


REFUSED = {
    "has ended": token(ANN, exp=int(time.time()) - 61),
    "has no end": signed(HS256, {"sub": "1", "email": ANN}, SECRET),
    "ends at a text": signed(HS256, {**CLAIMS, "exp": "never"}, SECRET),
    "is not valid yet": signed(HS256, {**CLAIMS, "nbf": SOON}, SECRET),
    "has the signature of another secret": token(ANN, "another secret of another LAMB"),
    "has the published secret": token(ANN, "t0p-s3cr3t"),
    "is not signed": unsigned(ANN),
    "says that it is not signed": signed({"alg": "none"}, CLAIMS, SECRET),
    "has another algorithm": signed({"alg": "HS512"}, CLAIMS, SECRET),
    "has an extension that nobody knows": signed({**HS256, "crit": ["x"], "x": 1}, CLAIMS, SECRET),
    "has no address": signed(HS256, {"sub": "1", "exp": SOON}, SECRET),
    "has an address that is no text": signed(HS256, {**CLAIMS, "email": [ANN]}, SECRET),
    "has no signature": token(ANN).rpartition(".")[0] + ".",
    "has no second part": token(ANN).replace(".", "..", 1),
    "belongs to a takeover": token(ANN, takeover={"id": "1"}),
    "belongs to nobody here": token("nobody@uni.example"),
    "is too long": token(ANN, name="x" * 5000),
    "has claims that are no object": signed(HS256, json.loads("[1]"), SECRET),
}


async def test_other_tokens_are_refused(tmp_path: Path) -> None:
    async with front(tmp_path) as bench:
        for name, sent in REFUSED.items():
            assert await me(bench, sent) is None, name
        assert await me(bench, token(ANN)) is not None


async def test_a_token_that_is_refused_still_reaches_lamb(tmp_path: Path) -> None:
    async with front(tmp_path) as bench:
        headers = {"authorization": f"Bearer {token('new@uni.example')}"}
        known = await bench.client.get("/creator/me", headers=headers)
        assert known.json()["data"]["email"] == "new@uni.example"


@pytest.mark.parametrize("change", ["disabled", "elsewhere"])
async def test_a_user_who_is_not_enabled_at_home_has_no_rights(tmp_path: Path, change: str) -> None:
    async with front(tmp_path) as bench:
        await bench.organization("college")
        await bench.add("bob@college.example", "college")
        if change == "disabled":
            await bench.user("bob@college.example", disabled=True)
        assert await me(bench, token("bob@college.example")) is None


async def test_without_the_secret_a_token_grants_nothing_in_heddle(tmp_path: Path) -> None:
    async with front(tmp_path, lamb_jwt_secret=None) as bench:
        assert await me(bench, token(ANN)) is None
        headers = {"authorization": f"Bearer {token(ANN)}"}
        assert (await bench.client.get("/creator/me", headers=headers)).status_code == 200


async def test_without_a_lamb_its_tokens_grant_nothing(tmp_path: Path) -> None:
    async with gateway(tmp_path, "local", lamb_jwt_secret=SECRET) as bench:
        assert await me(bench, token(ANN)) is None


def test_the_secret_has_the_names_and_the_order_of_lamb(monkeypatch: pytest.MonkeyPatch) -> None:
    def secret() -> str:
        value = LambSettings().jwt_secret
        return value.get_secret_value() if value else ""

    assert secret() == ""
    names = ("WEBUI_JWT_SECRET_KEY", "WEBUI_SECRET_KEY", "LAMB_JWT_SECRET")
    for name in (*names, "HEDDLE_LAMB_JWT_SECRET"):
        monkeypatch.setenv(name, f"the secret in {name}")
        assert secret() == f"the secret in {name}"
    monkeypatch.setenv("HEDDLE_LAMB_JWT_SECRET", "")
    monkeypatch.setenv("LAMB_JWT_SECRET", "")
    assert secret() == "the secret in WEBUI_SECRET_KEY"


def test_the_published_secret_of_lamb_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_LAMB_URL", "http://lamb:9099")
    monkeypatch.setenv("WEBUI_SECRET_KEY", "t0p-s3cr3t")
    with pytest.raises(ValidationError, match="LAMB's published source"):
        LambSettings()


@pytest.mark.parametrize(
    "url", ["lamb:9099", "ftp://lamb", "http://lamb/path", "http://a@lamb", "http://lamb?x=1"]
)
def test_an_address_of_lamb_that_is_no_origin_is_refused(url: str) -> None:
    with pytest.raises(ValidationError):
        LambSettings(url=url)
