"""Keys that the account service gave out, at the gateway."""

import asyncio
import secrets
import time
from pathlib import Path
from typing import Any

import pytest
from gateway.accounts import ANN, gateway
from gateway.conftest import KEY, Start
from heddle.account.v1 import account_pb2 as pb
from heddle_gateway.auth.issued_keys import AccountClient, IssuedKeys
from heddle_gateway.auth.keys_file import Principal
from heddle_runtime.errors import (
    PermissionDeniedError,
    UnauthenticatedError,
    UnavailableError,
    to_rpc,
)
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials

UNKNOWN = f"hk_{'0' * 16}_{'x' * 43}"


async def test_a_key_stands_for_its_user(tmp_path: Path, transport: str) -> None:
    async with gateway(tmp_path, transport) as bench:
        issued = await bench.key(user=ANN)
        assert (await bench.chat(issued.secret)).status_code == 200
        assert (await bench.chat((await bench.key(scopes=["admin"])).secret)).status_code == 200
    assert bench.callers[0] == Identity(ANN, "uni", ("creator",), key_id=issued.key.id)
    assert bench.callers[1].subject.startswith("key:")
    assert bench.callers[1].scopes == ("admin",)


async def test_what_is_no_key_is_refused_like_any_other(tmp_path: Path, transport: str) -> None:
    async with gateway(tmp_path, transport) as bench:
        made = (await bench.key()).secret
        answers = [
            await bench.chat(key)
            for key in (UNKNOWN, made[:-1], "hk_", f"hk_{'x' * 60_000}", "lamb_unknown_0123456789")
        ]
    assert {response.status_code for response in answers} == {401}
    assert len({response.text for response in answers}) == 1
    assert made[20:] not in answers[1].text
    assert not bench.callers


async def test_the_services_own_keys_go_on_as_they_did(tmp_path: Path, transport: str) -> None:
    async with gateway(tmp_path, transport) as bench:
        assert (await bench.chat(KEY)).status_code == 200
        assert not bench.accounts.resolved_keys


@pytest.mark.alone
async def test_a_revoked_key_is_useless_within_two_seconds(tmp_path: Path, transport: str) -> None:
    async with gateway(tmp_path, transport) as bench:
        issued = await bench.key()
        assert (await bench.chat(issued.secret)).status_code == 200
        await bench.operator("RevokeKey", pb.RevokeKeyRequest(id=issued.key.id))
        revoked = time.monotonic()
        while 200 in [(await bench.chat(issued.secret)).status_code for _ in range(2)]:
            await asyncio.sleep(0.05)  # of two requests in turn, each replica gets one
        assert time.monotonic() - revoked < 2.3
        assert (await bench.chat(issued.secret)).status_code == 401


async def test_a_key_is_asked_for_once_by_many_at_the_same_time(tmp_path: Path) -> None:
    async with gateway(tmp_path, "rpc") as bench:
        made = await bench.key()
        unknown = f"hk_{'0' * 16}_{secrets.token_urlsafe(32)}"
        for key, status in ((made.secret, 200), (unknown, 401)):
            answers = await asyncio.gather(*(bench.chat(key) for _ in range(20)))
            assert {response.status_code for response in answers} == {status}
        assert bench.accounts.resolved_keys
        for keys in bench.accounts.resolved_keys:
            assert keys == [made.secret, unknown]


async def test_without_the_service_keys_cannot_be_checked(start: Start, transport: str) -> None:
    async with start(transport) as bench:  # none of its neighbours offers accounts
        response = await bench.chat({"authorization": f"Bearer {UNKNOWN}"})
        assert response.status_code == 503
        assert response.headers["retry-after"] == "1"
        assert (await bench.chat()).status_code == 200


async def test_a_gateway_may_have_issued_keys_alone(tmp_path: Path) -> None:
    async with gateway(tmp_path, "local", api_key=None, issued_keys_only=True) as bench:
        assert (await bench.chat((await bench.key()).secret)).status_code == 200
        assert (await bench.chat(KEY)).status_code == 401


async def test_issued_keys_are_in_no_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    async with gateway(tmp_path, "rpc") as bench:
        made = (await bench.key()).secret
        await bench.chat(made)
        await bench.chat(made[:-1])
        logs = bench.logged()
    assert made[20:-1] not in "".join([logs, *capfd.readouterr()])


class Accounts:
    """Answers every key with its script."""

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.callers: list[Identity] = []

    async def ResolveKey(self, request: pb.ResolveKeyRequest, **_: Any) -> pb.ResolveKeyResponse:
        self.callers.append(caller().identity)
        answer = self.script.pop(0) if self.script else None
        if isinstance(answer, Exception):
            raise answer
        return pb.ResolveKeyResponse(subject=request.key, organization="uni", key_id="k1")


def issued(accounts: Accounts) -> IssuedKeys:
    credentials = ServiceCredentials("heddle-gateway")
    return IssuedKeys(AccountClient(accounts, credentials))  # type: ignore[arg-type] # the one method that is called


@pytest.mark.parametrize(
    "error",
    [
        UnavailableError("down"),
        PermissionDeniedError("you are no service"),
        UnauthenticatedError("The call carries no valid token."),
    ],
)
async def test_a_failure_says_nothing_about_the_key_and_is_forgotten(error: Exception) -> None:
    accounts = Accounts(to_rpc(error))  # type: ignore[arg-type] # each is a HeddleError
    keys = issued(accounts)
    with pytest.raises(UnavailableError):
        await keys.principal("hk_a")
    assert await keys.principal("hk_a") == Principal(Identity("hk_a", "uni", key_id="k1"))


async def test_keys_are_asked_for_in_the_gateways_own_name() -> None:
    accounts = Accounts()
    await issued(accounts).principal("hk_a")
    assert accounts.callers == [Identity("heddle-gateway", scopes=("service",))]
    assert caller().identity != accounts.callers[0]
