"""Starting, stopping, and services that are not there."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import grpc
import httpx
import pytest
from gateway.conftest import KEY, Bench, gateway
from gateway.neighbours import DONE, HELLO, text
from heddle_gateway.app import GatewaySettings, app, connect
from heddle_gateway.http.server import serving
from integration.browser import browser
from patience import until
from runtime.ports import free_port

BODY = {"model": "1", "messages": [{"role": "user", "content": "hi"}]}


@asynccontextmanager
async def asking(bench: Bench, *, stream: bool) -> AsyncGenerator[asyncio.Task[httpx.Response]]:
    """Ask with a client that outlives the gateway; the answer has begun when this yields."""
    async with browser(timeout=10) as client:
        yield asyncio.create_task(
            client.post(
                f"{bench.url}/v1/chat/completions",
                json={**BODY, "stream": stream},
                headers={"authorization": f"Bearer {KEY}"},
            )
        )


async def begun(bench: Bench) -> None:
    """Wait until a run is under way and its first bytes had time to leave."""
    while not bench.orchestrator.running:
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)


async def test_a_stopping_gateway_lets_answers_finish(transport: str) -> None:
    async with AsyncExitStack() as clients:
        async with gateway(transport, shutdown_grace=5.0) as bench:
            bench.orchestrator.script = [[text("a")], 0.5, [text("b"), DONE]]
            asked = await clients.enter_async_context(asking(bench, stream=True))
            await begun(bench)
            await bench.stop()
        assert (await asked).text.endswith("data: [DONE]\n\n")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_stopping_gateway_ends_long_answers_with_an_error(
    transport: str, stream: bool
) -> None:
    async with AsyncExitStack() as clients:
        async with gateway(transport, shutdown_grace=0.2) as bench:
            bench.orchestrator.script = [[text("a")], 60.0]
            asked = await clients.enter_async_context(asking(bench, stream=stream))
            await begun(bench)
            await bench.stop()
        response = await asked
    last = response.text.removesuffix("data: [DONE]\n\n").strip().split("\n\n")[-1]
    last = last.removeprefix("data: ")
    assert "being stopped" in json.loads(last)["error"]["message"]
    assert response.status_code == (200 if stream else 503)
    await until(lambda: len(bench.orchestrator.cancelled) == 1)


async def test_a_run_that_outlives_its_answer_ends_in_silence(
    transport: str, capfd: pytest.CaptureFixture[str]
) -> None:
    async with gateway(transport, shutdown_grace=0.2) as bench:
        bench.orchestrator.script = [[text("a"), DONE], 60.0]
        assert (await bench.chat(stream=True)).text.endswith("data: [DONE]\n\n")
        await bench.stop()
    await until(lambda: len(bench.orchestrator.cancelled) == 1)
    assert "Traceback" not in "".join((*capfd.readouterr(), bench.log))


async def test_services_that_are_not_there_are_told_apart_and_waited_for() -> None:
    nowhere = f"127.0.0.1:{free_port()}"
    settings = GatewaySettings.model_validate(
        {
            "listen": "127.0.0.1:0",
            "api_key": KEY,
            "drain_wait": 0.0,
            **{
                f"{name}_address": nowhere
                for name in ("orchestrator", "tools", "connector", "assistants")
            },
        }
    )
    async with (
        connect(settings) as peers,
        serving(app(settings, peers), settings) as address,
        browser(f"http://{address}", KEY) as client,
    ):
        health = await client.get("/health")
        assert health.status_code == 503
        assert health.json()["status"] == "degraded"
        assert set(health.json()["services"].values()) == {False}
        refused = await client.post("/v1/chat/completions", json=BODY)
        assert refused.status_code == 503
        assert nowhere not in refused.text


async def test_a_gateway_without_the_migration_service_is_degraded_and_serves_chats() -> None:
    async with gateway("local") as bench:
        assert bench.services
        bench.services.health["migration"] = bench.services.health["migration"].__class__(
            grpc.aio.insecure_channel(f"127.0.0.1:{free_port()}")
        )
        health = await bench.client.get("/health")
        assert (health.status_code, health.json()["status"]) == (200, "degraded")
        assert health.json()["services"]["migration"] is False


async def test_the_command_serves_and_stops_on_a_signal() -> None:
    port = free_port()
    environment = {
        **os.environ,
        "HEDDLE_GATEWAY_LISTEN": f"127.0.0.1:{port}",
        "HEDDLE_GATEWAY_DEVELOPMENT": "true",
        "HEDDLE_GATEWAY_DRAIN_WAIT": "0.1",
    }
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "heddle_gateway"),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stderr is not None
    async with browser() as client:
        while b'"serving"' not in await process.stderr.readline():
            assert process.returncode is None
        response = await client.get(f"http://127.0.0.1:{port}/status")
        assert response.json() == {"status": True}
    process.send_signal(signal.SIGTERM)
    _, rest = await asyncio.wait_for(process.communicate(), 10)
    assert process.returncode == 0
    assert all(json.loads(line) for line in rest.splitlines())


async def test_a_wrong_start_says_what_is_wrong() -> None:
    environment = {key: value for key, value in os.environ.items() if "HEDDLE" not in key}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "heddle_gateway"),
        env=environment,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await process.communicate()
    assert process.returncode == 2
    assert b"HEDDLE_GATEWAY_API_KEY" in said
    assert b"Traceback" not in said


async def test_answers_go_on_while_others_are_asked_for(transport: str) -> None:
    async with gateway(transport) as bench:
        bench.orchestrator.script = HELLO
        found = await asyncio.gather(*(bench.chat(stream=True) for _ in range(50)))
    assert {response.status_code for response in found} == {200}
    assert not bench.orchestrator.running
