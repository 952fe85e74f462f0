"""`heddle_runtime.server`: identity, limits, health, and how it stops."""

import asyncio

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.client import channel
from heddle_runtime.errors import ResourceExhaustedError, UnauthenticatedError, from_rpc
from heddle_runtime.health import healthy
from heddle_runtime.identity import ANONYMOUS, Identity
from heddle_runtime.settings import ServiceSettings
from patience import until
from pydantic import SecretStr
from runtime.greeting import CONTRACT, Greeter, ask, greeting

SECRET = "a-secret-of-at-least-32-characters"
GUARDED = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


@pytest.mark.parametrize(
    ("identity", "secret"),
    [
        (ANONYMOUS, SecretStr(SECRET)),
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
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await pb_grpc.OrchestratorServiceStub(to).ListStrategies(
                pb.ListStrategiesRequest(), **new_call_options(5)
            )

    assert isinstance(from_rpc(caught.value), UnauthenticatedError)


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
    settings = ServiceSettings(drain_wait=0.3, shutdown_grace=5)
    answers: list[str] = []
    async with greeting(greeter(), settings) as server:
        to = channel(server.address, CONTRACT)
        check = health_pb2_grpc.HealthStub(to).Watch(  # type: ignore[attr-defined] # its stubs lack methods
            health_pb2.HealthCheckRequest(), timeout=10
        )
        first = await anext(aiter(check))
        assert first.status == health_pb2.HealthCheckResponse.SERVING

        async def ask_on() -> None:
            stub = pb_grpc.OrchestratorServiceStub(to)
            for _ in range(20):
                response = await stub.ListStrategies(
                    pb.ListStrategiesRequest(), **new_call_options(5)
                )
                answers.append(response.strategies[0].name)
                await asyncio.sleep(0.01)

        asking = asyncio.create_task(ask_on())
        await until(lambda: len(answers) > 2)
    await asking
    second = await anext(aiter(check))
    check.cancel()
    await to.close()

    assert len(answers) == 20
    assert second.status == health_pb2.HealthCheckResponse.NOT_SERVING


async def test_a_health_check_asks_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "https_proxy", "grpc_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with greeting(greeter(), ServiceSettings(drain_wait=0)) as server:
        assert await asyncio.to_thread(healthy, server.address)
