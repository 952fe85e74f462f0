"""The metrics of a running Heddle, scraped from the port that operators configure.

One Heddle answers requests of all kinds. Its spans reach no collector.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from heddle_runtime.telemetry.metrics import table
from integration.operators_files import expressions, legends, missing, promtool
from integration.scraped import CANARY, Samples, Scraped, requests_of_all_kinds, scraped
from patience import until
from runtime.ports import free_port

pytestmark = pytest.mark.asyncio(loop_scope="module")


@dataclass
class Scrape:
    """The metrics after requests of all kinds, and the Heddle that answered them."""

    running: Scraped
    text: str

    @property
    def samples(self) -> Samples:
        return Samples.of(self.text)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scrape(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scrape]:
    away = {
        "HEDDLE_TRACES_SAMPLE": "1",
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "1",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    async with scraped(tmp_path_factory.mktemp("scraped"), **away) as running:
        await requests_of_all_kinds(running)
        await until(lambda: running.samples().value("heddle_telemetry_dropped_total"))
        yield Scrape(running, running.text())


async def test_a_scrape_counts_what_requests_did(scrape: Scrape) -> None:
    samples = scrape.samples
    chat = {"http_route": "/v1/chat/completions", "http_request_method": "POST"}
    requests = "http_server_request_duration_seconds_count"
    assert samples.value(requests, **chat, http_response_status_code="200") == 3
    assert samples.value(requests, **chat, http_response_status_code="404") == 1
    assert samples.value(requests, http_route="/assistants/{id}") == 1
    model = {"gen_ai_provider_name": "openai", "gen_ai_request_model": "m"}
    calls = "gen_ai_client_inference_duration_seconds_count"
    assert samples.value(calls, **model, error_type="") >= 3
    refused = {"gen_ai_request_model": "gone", "error_type": "PROVIDER_REFUSED"}
    assert samples.value(calls, **refused) == 1
    assert samples.value("gen_ai_client_inference_usage_input_tokens_total", **model) >= 6
    first = "gen_ai_client_inference_time_to_first_chunk_seconds_count"
    assert samples.value(first, **model) >= 1
    tools = "gen_ai_execute_tool_duration_seconds_count"
    assert samples.value(tools, gen_ai_tool_name="word_count") >= 3
    assert samples.value(tools, gen_ai_tool_name="simple_rag") >= 2
    assert samples.value("heddle_retrieval_duration_seconds_count") >= 2
    agents = "gen_ai_invoke_agent_duration_seconds_count"
    assert samples.value(agents, heddle_strategy="agent", error_type="") == 1
    assert samples.value(agents, error_type="PROVIDER_REFUSED") == 1
    assert samples.value(agents, error_type="INTERNAL") == 0
    assert samples.value("heddle_agent_decisions_total") >= 1
    assert samples.value("heddle_provider_retries_total", reason="no_connection") == 1
    listed = {"rpc_method": "heddle.tool.v1.ToolService/ListTools"}
    assert samples.value("rpc_server_call_duration_seconds_count", **listed) == 1
    assert samples.value("heddle_calls_limit", heddle_transport="http") == 2000
    assert samples.value("heddle_build_info", heddle_service="devstack") == 1
    assert samples.value("process_resident_memory_bytes") > 0


async def test_no_metric_repeats_a_text_and_the_public_port_has_none(scrape: Scrape) -> None:
    public = await scrape.running.client.get("/metrics")
    for canary in (CANARY, "herons.txt", "assistant_1", "file-1", "developer", "birds"):
        assert canary not in scrape.text
    assert public.status_code == 404
    assert table.HTTP_REQUEST.name not in public.text


async def test_a_client_that_leaves_a_stream_is_counted(
    scrape: Scrape, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = scrape.running
    monkeypatch.setattr(running.provider, "delay", 30.0)
    body = {
        "model": "lamb_assistant.3",
        "messages": [{"role": "user", "content": "hi"}],
        "stream": True,
    }
    async with running.client.stream("POST", "/v1/chat/completions", json=body, timeout=60):
        pass

    def counted() -> bool:
        gone = {"reason": "client_gone"}
        return running.samples().value("heddle_streams_cancelled_total", **gone) == 1

    await until(counted)


async def test_every_metric_and_label_of_rules_and_panels_is_in_a_scrape(scrape: Scrape) -> None:
    labels, named, shown = scrape.samples.labels, expressions(), legends()
    assert {name: missing(labels, each, shown.get(name, "")) for name, each in named.items()} == {
        name: set() for name in named
    }


@pytest.mark.exhaustive
async def test_prometheus_accepts_a_scrape_and_has_no_complaints_about_its_names(
    scrape: Scrape,
) -> None:
    assert promtool("check", "metrics", text=scrape.text) == ""
