"""Users of LAMB who sign in to the studio with the form, in front of LAMB."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from gateway.accounts import ANN, Bench, gateway
from gateway.replicas import server_port
from gateway.test_sign_in import PASSWORD as OWN_PASSWORD
from gateway.test_sign_in import headers
from heddle.account.v1 import account_pb2 as pb
from heddle_gateway.app import GatewaySettings, ServiceClients, app
from heddle_gateway.services import SERVICES
from heddle_migration_service.proxy.lamb_server import MAX_RESPONSE_BYTES
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from lamb_stand_in.server import PASSWORD, Lamb, lamb


@dataclass(frozen=True)
class Front:
    """A gateway in front of LAMB."""

    bench: Bench
    lamb: Lamb

    async def sign_in(self, email: str = ANN, password: str = PASSWORD) -> httpx.Response:
        """Sign in with the form of the studio."""
        body = {"email": email, "password": password}
        return await self.bench.client.post("/login", json=body)


@asynccontextmanager
async def serving(folder: Path, **settings: Any) -> AsyncGenerator[Front]:
    """Yield a gateway in front of LAMB whose user is Ann."""
    async with (
        lamb(server_port()) as behind,
        gateway(folder, "local", **{"lamb_url": behind.url, **settings}) as bench,
    ):
        yield Front(bench, behind)


@pytest.fixture
async def front(tmp_path: Path) -> AsyncIterator[Front]:
    """A gateway with its defaults in front of LAMB."""
    async with serving(tmp_path) as running:
        yield running


async def test_a_user_of_lamb_signs_in_with_lambs_password_and_acts(front: Front) -> None:
    ways = (await front.bench.client.get("/login")).json()
    assert ways == {"password": True, "oidc": [], "other_system": "LAMB", "setup": True}
    response = await front.sign_in()
    assert response.status_code == 200, response.text
    me = (await front.bench.client.get("/v1/me")).json()
    assert (me["email"], me["organization"], me["role"]) == (ANN, "uni", "creator")
    changed = await front.bench.client.post("/logout", json={}, headers=await headers(front.bench))
    assert changed.json() == {"ended": 1}


async def test_the_session_says_that_lamb_has_accepted_the_password(front: Front) -> None:
    await front.sign_in()
    token = front.bench.client.cookies["heddle_session"]
    CALLER.set(Caller("", Identity("gateway", scopes=("service",))))
    response = await front.bench.accounts.stub.ResolveSession(
        pb.ResolveSessionRequest(token=token), **new_call_options(10)
    )
    assert response.session.method == "lamb"


@pytest.mark.parametrize(
    ("email", "password"),
    [(ANN, "wrong"), ("nobody@uni.example", PASSWORD), (ANN, ""), (ANN, PASSWORD + "&x=1")],
)
async def test_a_wrong_password_is_refused(front: Front, email: str, password: str) -> None:
    response = await front.sign_in(email, password)
    assert response.status_code in (400, 401)
    assert "heddle_session" not in front.bench.client.cookies


async def test_a_user_whom_only_lamb_knows_is_refused_with_the_reason(front: Front) -> None:
    front.lamb.users["new@uni.example"] = PASSWORD
    response = await front.sign_in("new@uni.example")
    assert response.status_code == 401
    assert "No user has the address new@uni.example" in response.json()["error"]["message"]


async def test_a_user_who_is_disabled_in_heddle_is_refused(front: Front) -> None:
    await front.bench.user(ANN, disabled=True)
    assert (await front.sign_in()).status_code == 401


async def test_a_password_of_heddle_stays_valid_also_while_lamb_is_down(front: Front) -> None:
    await front.bench.operator(
        "SetPassword", pb.SetPasswordRequest(email=ANN, organization="uni", password=OWN_PASSWORD)
    )
    assert (await front.sign_in(password=OWN_PASSWORD)).status_code == 200
    await front.lamb.stop()
    assert (await front.sign_in(password=OWN_PASSWORD)).status_code == 200
    refused = await front.sign_in()
    assert refused.status_code == 503
    assert "LAMB" in refused.json()["error"]["message"]


async def test_without_passwords_of_heddle_those_of_lamb_are_valid(tmp_path: Path) -> None:
    async with serving(tmp_path, password_login=False) as front:
        assert (await front.sign_in(password="wrong")).status_code == 401
        assert (await front.sign_in()).status_code == 200


async def test_the_cookie_of_the_studio_does_not_sign_in_to_lamb(front: Front) -> None:
    await front.sign_in()
    assert (await front.bench.client.get("/creator/me")).status_code == 403


async def test_a_page_of_another_site_cannot_sign_in(front: Front) -> None:
    response = await front.bench.client.post(
        "/login",
        json={"email": ANN, "password": PASSWORD},
        headers={"origin": "https://evil.example"},
    )
    assert response.status_code == 403
    assert front.lamb.requests == []


ANSWERS = {
    "another user": b'{"success":true,"data":{"email":"bob@uni.example"}}',
    "no user": b'{"success":true}',
    "no JSON": b"<html>",
    "a text for true": b'{"success":"true","data":{"email":"ann@uni.example"}}',
    "too much": b'{"success":true,"data":{"email":"ann@uni.example"},"x":"%b"}'
    % (b"x" * MAX_RESPONSE_BYTES),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_login_that_returns_something_else_signs_nobody_in(
    tmp_path: Path, name: str
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = ANSWERS[name]
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
        await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    async with server, gateway(tmp_path, "local", lamb_url=f"http://{host}:{port}") as bench:
        response = await bench.client.post("/login", json={"email": ANN, "password": PASSWORD})
        assert response.status_code in (401, 503)
        assert "set-cookie" not in response.headers


async def test_an_identity_provider_cannot_have_the_name_of_lamb(tmp_path: Path) -> None:
    file = tmp_path / "providers.json"
    entry = {"id": "lamb", "title": "x", "issuer": "https://x.example", "client_id": "y"}
    file.write_text(json.dumps([entry]))
    settings = GatewaySettings(development=True, oidc_providers=file)
    with pytest.raises(ValueError, match="reserved"):
        app(
            settings,
            ServiceClients(**dict.fromkeys(SERVICES, grpc.aio.insecure_channel("127.0.0.1:1"))),
        )
