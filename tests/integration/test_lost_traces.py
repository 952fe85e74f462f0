"""Collectors that hang or die: requests do not notice, memory stays, and lost spans are counted."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.export import SpanSettings, exporting
from heddle_runtime.telemetry.metrics.endpoint import MetricsSettings, serving_metrics
from heddle_runtime.telemetry.span_processing import MAX_SPANS
from integration.browser import browser
from integration.otlp_receiver import receiving
from integration.processes import ONE_PROCESS, Processes, processes
from integration.scraped import Samples
from integration.whole import write_assistant
from patience import until
from recorded_spans import DRAWN
from runtime.ports import free_port

ASSISTANT = "model: {connector: bypass, model: simple-bypass}\n"
SPANS = 3
"""Of one request: the gateway's, the assistant's and the model's."""
QUEUE, BATCH = 64, 16
EXPORT_SECONDS = 10.0
"""How long the exporter waits for a collector."""
STOP_SECONDS = 3.0


class Lost:
    """A Heddle whose spans do not arrive."""

    def __init__(self, heddle: Processes, client: httpx.AsyncClient, address: str) -> None:
        self.heddle, self.client, self._address = heddle, client, address

    def spans(self, **labels: str) -> float:
        """Return how many spans the metrics count as lost."""
        samples = Samples.of(httpx.get(f"http://{self._address}/metrics").text)
        return samples.value("heddle_telemetry_dropped_total", **labels)

    async def ask(self, times: int) -> float:
        """Send requests one by one, and return the seconds of the slowest."""
        slowest = 0.0
        for _ in range(times):
            started = time.monotonic()
            body: dict[str, Any] = {
                "model": "lamb_assistant.1",
                "messages": [{"role": "user", "content": "hi"}],
            }
            assert (await self.client.post("/v1/chat/completions", json=body)).is_success
            slowest = max(slowest, time.monotonic() - started)
        return slowest


@asynccontextmanager
async def losing(folder: Path, endpoint: str, **settings: str) -> AsyncIterator[Lost]:
    """Run a Heddle that traces all requests with a small queue."""
    address = f"127.0.0.1:{free_port()}"
    write_assistant(folder, "1", ASSISTANT)
    async with (
        processes(
            folder,
            ONE_PROCESS,
            HEDDLE_TRACES_SAMPLE="1",
            HEDDLE_METRICS_LISTEN=address,
            HEDDLE_GATEWAY_DRAIN_WAIT="0",
            OTEL_EXPORTER_OTLP_ENDPOINT=endpoint,
            OTEL_BSP_MAX_QUEUE_SIZE=str(QUEUE),
            OTEL_BSP_MAX_EXPORT_BATCH_SIZE=str(BATCH),
            OTEL_BSP_SCHEDULE_DELAY="20",
            **settings,
        ) as heddle,
        browser(heddle.url) as client,
    ):
        yield Lost(heddle, client, address)


@asynccontextmanager
async def hanging() -> AsyncIterator[str]:
    """Yield the address of a server that takes connections and answers nothing."""

    async def hang(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            writer.close()

    server = await asyncio.start_server(hang, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()


@pytest.mark.exhaustive
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
async def test_a_collector_that_hangs_costs_one_queue_and_three_seconds_of_the_stop(
    tmp_path: Path, protocol: str
) -> None:
    async with (
        hanging() as endpoint,
        losing(tmp_path, endpoint, OTEL_EXPORTER_OTLP_PROTOCOL=protocol) as lost,
    ):
        assert await lost.ask((QUEUE + BATCH) // SPANS + 5) < EXPORT_SECONDS / 2
        await until(lost.spans)
        held = lost.spans()
        await lost.ask(20)
        # What the queue and the batch under way hold does not grow.
        await until(lambda: lost.spans() == held + 20 * SPANS)

        module = ONE_PROCESS[0]
        lost.heddle.running[module].terminate()
        assert await asyncio.to_thread(lost.heddle.running[module].wait, 30) == 0
        ended = time.time()
    lines = [json.loads(line) for line in lost.heddle.log(module).splitlines()]
    [warning] = [line for line in lines if line["event"] == "the collector does not answer"]
    assert 0 < warning["lost_spans"] <= QUEUE
    stopped = max(at(line) for line in lines if line["event"] == "stopped")
    assert at(warning) - stopped < STOP_SECONDS + 1.5
    assert ended - at(warning) < STOP_SECONDS


def at(line: dict[str, Any]) -> float:
    """Return when a line was written, in seconds since 1970."""
    return datetime.fromisoformat(line["timestamp"]).timestamp()


async def test_the_spans_that_a_dead_collector_does_not_take_are_counted(tmp_path: Path) -> None:
    async with receiving() as receiver:
        endpoint = receiver.http
        async with losing(tmp_path, endpoint, OTEL_EXPORTER_OTLP_TIMEOUT="1") as lost:
            await lost.ask(1)
            await until(lambda: receiver.spans)
            await receiver.die()
            assert await lost.ask(10) < EXPORT_SECONDS / 2
            await until(lambda: lost.spans(reason="not_exported"))
            await lost.ask(1)


async def test_a_request_has_at_most_500_spans_and_the_others_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lost = 20

    def work() -> None:
        CALLER.set(Caller("req_1", traceparent=DRAWN))
        with exporting("demo", SpanSettings()), spans.span("all"):
            for _ in range(MAX_SPANS - 1 + lost):
                with spans.span("part"):
                    pass

    async with receiving() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.http)
        listen = f"127.0.0.1:{free_port()}"
        with serving_metrics(MetricsSettings(metrics_listen=listen), "demo") as address:
            await asyncio.to_thread(work)
            await until(lambda: len(receiver.spans) >= MAX_SPANS)
            text = await asyncio.to_thread(lambda: httpx.get(f"http://{address}/metrics").text)
    assert [span.name for span in receiver.spans].count("part") == MAX_SPANS - 1
    assert "all" in {span.name for span in receiver.spans}
    assert Samples.of(text).value("heddle_telemetry_dropped_total", reason="too_many") == lost
