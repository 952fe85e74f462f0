"""`heddle_runtime.serving.server`: identity, limits, health, and how it stops."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.errors import ResourceExhaustedError, UnauthenticatedError, from_rpc
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import NO_IDENTITY, Identity
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.health import healthy
from heddle_runtime.settings.service import ServiceSettings
from pydantic import SecretStr
from runtime.greeting import CONTRACT, Greeter, ask, greeting

SECRET = "a-secret-of-at-least-32-characters"
GUARDED = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


@pytest.mark.parametrize(
    ("identity", "secret"),
    [
        (NO_IDENTITY, SecretStr(SECRET)),
        (Identity("x"), None),
        (Identity("x"), SecretStr("another secret" * 3)),
    ],
)
async def test_a_call_without_a_valid_token_is_refused(
    identity: Identity, secret: SecretStr | None
) -> None:
    CALLER.set(Caller("r", identity))
    async with (
        greeting(greeter(), GUARDED) as server,
        channel(server.address, CONTRACT, secret=secret) as to,
    ):
        with pytest.raises((grpc.aio.AioRpcError, UnauthenticatedError)) as caught:
            await pb_grpc.OrchestratorServiceStub(to).ListStrategies(
                pb.ListStrategiesRequest(), **new_call_options(5)
            )

    refusal: Exception = caught.value
    if isinstance(refusal, grpc.aio.AioRpcError):
        refusal = from_rpc(refusal)
    assert isinstance(refusal, UnauthenticatedError)


async def test_a_signed_identity_arrives() -> None:
    CALLER.set(Caller("r", Identity("ann", "school")))
    async with (
        greeting(greeter(), GUARDED) as server,
        channel(server.address, CONTRACT, secret=GUARDED.identity_secret) as to,
    ):
        response = await pb_grpc.OrchestratorServiceStub(to).ListStrategies(
            pb.ListStrategiesRequest(), **new_call_options(5)
        )

    assert response.strategies[0].name == "ann"


async def test_the_call_over_the_limit_is_refused_at_once_and_typed() -> None:
    settings = ServiceSettings(drain_wait=0, max_concurrent_calls=2, shutdown_grace=0)
    async with greeting(greeter(), settings) as server, channel(server.address, CONTRACT) as to:
        stub = pb_grpc.OrchestratorServiceStub(to)
        held = [stub.RunCompletion(ask("hang"), **new_call_options(30)) for _ in range(2)]
        for call in held:
            await anext(aiter(call))
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            [r async for r in stub.RunCompletion(ask(""), **new_call_options(5))]
        for call in held:
            call.cancel()

    assert isinstance(from_rpc(caught.value), ResourceExhaustedError)


async def test_a_stop_lets_running_calls_finish_and_says_so_first() -> None:
    servicer, settings = greeter(), ServiceSettings(drain_wait=1, shutdown_grace=30)
    async with greeting(servicer, settings) as server:
        to = channel(server.address, CONTRACT)
        check = health_pb2_grpc.HealthStub(to).Watch(  # type: ignore[attr-defined] # its stubs lack methods
            health_pb2.HealthCheckRequest(), timeout=30
        )
        first = await anext(aiter(check))
        assert first.status == health_pb2.HealthCheckResponse.SERVING
        stub = pb_grpc.OrchestratorServiceStub(to)
        call = aiter(stub.RunCompletion(ask("wait"), **new_call_options(30)))
        await anext(call)

        async def finish() -> list[str]:
            """Let the call finish when the server has said that it stops; call it once more."""
            second = await anext(aiter(check))
            check.cancel()
            request = pb.ListStrategiesRequest()
            await stub.ListStrategies(request, **new_call_options(5))
            servicer.free.set()
            rest = [event.text_delta async for response in call for event in response.events]
            return [health_pb2.HealthCheckResponse.ServingStatus.Name(second.status), *rest]

        finishing = asyncio.create_task(finish())
    assert await finishing == ["NOT_SERVING", "1", "2"]
    await to.close()


async def test_a_health_check_asks_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with greeting(greeter(), ServiceSettings(drain_wait=0)) as server:
        assert await asyncio.to_thread(healthy, server.address)
