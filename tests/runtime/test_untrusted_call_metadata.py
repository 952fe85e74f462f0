"""A client that has the contracts and nothing else of Heddle: what `heddle.call.v1` says is so."""

import time
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest
from google.api import field_behavior_pb2
from google.rpc import error_details_pb2, status_pb2
from heddle.call.v1 import call_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.callers import Identity, TokenSigner
from heddle_runtime.serving.server import Running
from heddle_runtime.settings.service import ServiceSettings
from joserfc import jwt
from joserfc.jwk import OctKey
from runtime.greeting import Greeter, greeting

SECRET = "a-secret-of-at-least-32-characters"
SERVICE = pb.DESCRIPTOR.services_by_name["OrchestratorService"].full_name
KEY = OctKey.import_key(SECRET)
CLAIMS = call_pb2.TokenClaims.DESCRIPTOR.fields
REQUIRED = [
    field.name
    for field in CLAIMS
    if field_behavior_pb2.REQUIRED
    in field.GetOptions().Extensions[field_behavior_pb2.field_behavior]
]


@pytest.fixture
async def service() -> AsyncIterator[Running]:
    settings = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name
    async with greeting(Greeter(), settings) as server:  # type: ignore[abstract] # it does not offer every method
        yield server


def token(without: str = "") -> str:
    now = int(time.time())
    claims = {"sub": "ann", "scopes": [], "aud": SERVICE, "iat": now + 3, "exp": now + 3_600}
    assert sorted(claims) == sorted(REQUIRED)
    claims.pop(without, None)
    return jwt.encode({"alg": "HS256"}, claims, KEY)


async def call(service: Running, authorization: str, timeout: float | None = 5) -> list[str]:
    metadata = {"authorization": authorization, "x_request_id": "r-1"}
    assert set(metadata) < {field.name for field in call_pb2.CallMetadata.DESCRIPTOR.fields}
    async with grpc.aio.insecure_channel(service.address) as channel:
        answer = await pb_grpc.OrchestratorServiceStub(channel).ListStrategies(
            pb.ListStrategiesRequest(),
            timeout=timeout,
            metadata=tuple((name.replace("_", "-"), each) for name, each in metadata.items()),
        )
    return [each.name for each in answer.strategies]


async def refusal(service: Running, authorization: str, timeout: float | None = 5) -> Any:
    """Return the code of a failure and what its details tell of it."""
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(service, authorization, timeout)
    trailing = dict(caught.value.trailing_metadata() or ())
    status = status_pb2.Status.FromString(trailing["grpc-status-details-bin"])
    info = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(info)
    return caught.value.code(), info.domain, info.reason


async def test_the_claims_that_are_required_are_enough(service: Running) -> None:
    assert await call(service, f"Bearer {token()}") == ["ann", "r-1"]


@pytest.mark.parametrize("claim", REQUIRED)
async def test_none_of_them_may_be_left_out(service: Running, claim: str) -> None:
    found = await refusal(service, f"Bearer {token(without=claim)}")
    assert found == (grpc.StatusCode.UNAUTHENTICATED, "heddle", "UNAUTHENTICATED")


async def test_a_call_without_a_deadline_is_refused(service: Running) -> None:
    found = await refusal(service, f"Bearer {token()}", timeout=None)
    assert found == (grpc.StatusCode.INVALID_ARGUMENT, "heddle", "INVALID_REQUEST")


def test_services_make_no_claims_but_those_of_the_contract() -> None:
    identity = Identity("app", "school", ("admin",), "5f0c", "k1")
    signed = TokenSigner(SECRET).token(identity, SERVICE)
    assert sorted(jwt.decode(signed, KEY).claims) == sorted(field.name for field in CLAIMS)
