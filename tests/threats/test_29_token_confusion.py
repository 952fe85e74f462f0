"""Threat 29: tokens that are signed in another way, or whose claims do not fit.

They are sent as gRPC calls and on a multiplexed stream. `tests/runtime/test_identity.py` has
further claims.
"""

import base64
import json
import time
from collections.abc import AsyncIterator

import grpc
import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.rpc.client import channel
from heddle_runtime.settings.service import ServiceSettings
from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey
from runtime.greeting import CONTRACT, Greeter, greeting

SECRET = "a-secret-of-at-least-32-characters"
KEY = OctKey.import_key(SECRET)
RSA = RSAKey.generate_key(2048)
SKEW = 5
"""The seconds by which clocks may differ."""
Claims = dict[str, object]


def claims(**changes: object) -> Claims:
    now = int(time.time())
    base: Claims = {
        "sub": "ann",
        "scopes": ["admin"],
        "aud": CONTRACT.full_name,
        "iat": now,
        "exp": now + 60,
    }
    return {name: value for name, value in {**base, **changes}.items() if value is not None}


def signed(**changes: object) -> str:
    return jwt.encode({"alg": "HS256"}, claims(**changes), KEY)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def forged() -> dict[str, str]:
    """Return tokens that nobody with the secret has signed for this service and time."""
    header, payload, signature = signed().split(".")
    now = int(time.time())
    return {
        "no algorithm": f"{part({'alg': 'none'})}.{payload}.",
        "no algorithm, in capitals": f"{part({'alg': 'None'})}.{payload}.{signature}",
        "no signature": f"{header}.{payload}.",
        "the signature of other claims": f"{header}.{part(claims(sub='operator'))}.{signature}",
        "RS256": jwt.encode({"alg": "RS256"}, claims(), RSA),
        "HS512": jwt.encode({"alg": "HS512"}, claims(), KEY, algorithms=["HS512"]),
        "a key in the header": jwt.encode(
            {"alg": "HS256", "jwk": OctKey.import_key("b" * 40).as_dict()},
            claims(),
            OctKey.import_key("b" * 40),
        ),
        "expired for longer than clocks differ": signed(iat=now - 120, exp=now - SKEW - 2),
        "from a clock an hour ahead": signed(iat=now + 3600, exp=now + 3660),
        "from a clock an hour behind": signed(iat=now - 3600, exp=now - 3540),
        "not valid yet": signed(nbf=now + 60),
        "no end": signed(exp=None),
        "an end that is no number": signed(exp="tomorrow"),
        "no audience": signed(aud=None),
        "another audience": signed(aud="heddle.tool.v1.ToolService"),
        "no start": signed(iat=None),
        "no subject": signed(sub=None),
        "five parts": f"{header}.{payload}.{signature}.{payload}.{signature}",
        "JSON instead of a token": json.dumps(claims()),
        "nothing": "",
    }


@pytest.fixture(params=["calls", "pipe"])
async def service(
    request: pytest.FixtureRequest,
) -> AsyncIterator["pb_grpc.OrchestratorServiceAsyncStub"]:
    settings = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name
    greeter = Greeter()  # type: ignore[abstract] # it does not offer every method
    async with greeting(greeter, settings) as server, channel(server.address, CONTRACT) as to:
        if request.param == "pipe":
            await to.channel_ready()
        yield pb_grpc.OrchestratorServiceStub(to)
        assert not [each for each in greeter.asked if each != "valid"]


async def code(service: "pb_grpc.OrchestratorServiceAsyncStub", token: str) -> grpc.StatusCode:
    metadata = ((AUTHORIZATION, f"Bearer {token}"),)
    request = pb.ListStrategiesRequest(page_token="valid")
    try:
        await service.ListStrategies(request, timeout=5, metadata=metadata)
    except grpc.aio.AioRpcError as error:
        return error.code()
    return grpc.StatusCode.OK


async def test_forged_tokens_are_refused(service: "pb_grpc.OrchestratorServiceAsyncStub") -> None:
    ends = {name: await code(service, token) for name, token in forged().items()}
    assert ends == dict.fromkeys(ends, grpc.StatusCode.UNAUTHENTICATED)


async def test_clocks_may_differ_by_seconds(
    service: "pb_grpc.OrchestratorServiceAsyncStub",
) -> None:
    now = int(time.time())
    for ahead in (-SKEW + 2, 0, SKEW - 1):
        token = signed(iat=now + ahead, exp=now + ahead + 60)
        assert await code(service, token) == grpc.StatusCode.OK, ahead
