"""`heddle_runtime.telemetry.metrics`: what is recorded, and how it is scraped."""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from heddle_runtime.errors import ToolFailedError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.serving.loop_watch import watched_loop
from heddle_runtime.telemetry import spans
from heddle_runtime.telemetry.metrics import children, gauges, table
from heddle_runtime.telemetry.metrics.endpoint import MetricsSettings, serving_metrics
from patience import until
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_open
from prometheus_client.parser import text_string_to_metric_families as parse
from pydantic import ValidationError
from recorded_spans import DRAWN, TRACE_ID, recorded
from runtime.ports import free_port

Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def settings(**values: Any) -> MetricsSettings:
    return MetricsSettings(metrics_listen=f"127.0.0.1:{free_port()}", **values)


def scrape(address: str, **headers: str) -> Samples:
    """Return the samples of a scrape by name and labels."""
    text = httpx.get(f"http://{address}/metrics", headers=headers).text
    families = list(parse_open(text) if headers else parse(text))  # type: ignore[no-untyped-call] # has no annotations
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.fixture
def address() -> Iterator[str]:
    """The address of metrics that are on."""
    with serving_metrics(settings(), "demo") as at:
        yield at


def test_values_are_scraped_with_their_labels(address: str) -> None:
    table.EXECUTE_TOOL.observe(0.03, "weather", "")
    table.EXECUTE_TOOL.observe(0.2, "weather", "TOOL_FAILED")
    table.INPUT_TOKENS.add(7, "openai", "m")
    table.INPUT_TOKENS.add(5, "openai", "m")
    samples = scrape(address)
    tool = (("error_type", ""), ("gen_ai_tool_name", "weather"))
    name = "gen_ai_execute_tool_duration_seconds"
    assert samples[f"{name}_count", tool] == 1
    assert samples[f"{name}_sum", tool] == 0.03
    assert samples[f"{name}_bucket", (tool[0], tool[1], ("le", "0.05"))] == 1
    assert samples[f"{name}_bucket", (tool[0], tool[1], ("le", "0.025"))] == 0
    model = (("gen_ai_provider_name", "openai"), ("gen_ai_request_model", "m"))
    assert samples["gen_ai_client_inference_usage_input_tokens_total", model] == 12


def test_traced_requests_leave_their_span_as_an_exemplar(address: str) -> None:
    with recorded() as received:
        CALLER.set(Caller("req_1", traceparent=DRAWN))
        with spans.span("answer"):
            table.EXECUTE_TOOL.observe(0.03, "weather", "")
        CALLER.set(Caller("req_2", traceparent=spans.undrawn(DRAWN)))
        table.EXECUTE_TOOL.observe(0.2, "weather", "")
    [span] = received.exporter.get_finished_spans()
    accepts = {"accept": "application/openmetrics-text"}
    text = httpx.get(f"http://{address}/metrics", headers=accepts).text
    exemplars = {
        sample.labels["le"]: sample.exemplar.labels
        for family in parse_open(text)  # type: ignore[no-untyped-call] # has no annotations
        for sample in family.samples
        if sample.exemplar is not None
    }
    assert exemplars == {
        "0.05": {"trace_id": TRACE_ID, "span_id": f"{span.context.span_id:016x}"},
    }


def test_a_scrape_can_be_open_metrics(address: str) -> None:
    table.DECISIONS.add(1, "rules", "false")
    samples = scrape(address, accept="application/openmetrics-text; version=1.0.0")
    labels = (("heddle_decider", "rules"), ("heddle_rejected", "false"))
    assert samples["heddle_agent_decisions_total", labels] == 1


def test_every_declared_metric_is_in_the_first_scrape_with_its_help(address: str) -> None:
    text = httpx.get(f"http://{address}/metrics").text
    for metric in table.METRICS:
        assert f"# HELP {metric.name}" in text
    for name in ("process_cpu_seconds_total", "heddle_build_info", "heddle_event_loop_lag_seconds"):
        assert f"# HELP {name}" in text


def test_combinations_beyond_the_limit_are_counted_together(address: str) -> None:
    for number in range(children.MAX_CHILDREN + 500):
        table.EMPTY_RETRIEVALS.add(1, f"engine-{number}")
    counts = {
        dict(labels)["heddle_engine"]: value
        for (name, labels), value in scrape(address).items()
        if name == "heddle_retrieval_empty_total"
    }
    assert len(counts) == children.MAX_CHILDREN + 1
    assert counts["_other"] == 500


@pytest.mark.parametrize("by_organization", [False, True])
def test_only_the_counters_of_tokens_name_the_organisation_if_the_operator_asks(
    by_organization: bool,
) -> None:
    with serving_metrics(settings(metrics_by_organization=by_organization), "demo") as at:
        token = CALLER.set(Caller("req_1", Identity("ann@example.org", "school")))
        table.OUTPUT_TOKENS.add(3, "openai", "m")
        table.QUOTA_REFUSALS.add(1, "spent")
        table.EXECUTE_TOOL.observe(0.1, "weather", "")
        CALLER.reset(token)
        named = {name for name, labels in scrape(at) if ("heddle_organization", "school") in labels}
    name = "gen_ai_client_inference_usage_output_tokens_total"
    assert named == ({name} if by_organization else set())


def test_durations_have_the_reason_of_a_failure(address: str) -> None:
    class Stop(BaseException):
        pass

    for error in (ToolFailedError("No."), KeyError("a bug"), Stop()):
        with pytest.raises(type(error)), table.duration(table.INVOKE_AGENT, "parallel"):
            raise error
    with table.duration(table.INVOKE_AGENT, "parallel"):
        pass
    reasons = {
        dict(labels)["error_type"]
        for name, labels in scrape(address)
        if name == "gen_ai_invoke_agent_duration_seconds_count"
    }
    assert reasons == {"", "TOOL_FAILED", "INTERNAL", "CANCELLED"}


OFF = """
import sys
from heddle_runtime.telemetry.metrics import table
from heddle_runtime.telemetry.metrics.endpoint import MetricsSettings, serving_metrics

with serving_metrics(MetricsSettings(), "demo") as address:
    table.EXECUTE_TOOL.observe(1, "weather", "")
    table.INPUT_TOKENS.add(1, "openai", "m")
    assert address == ""
    assert not table.is_on()
    assert "prometheus_client" not in sys.modules
"""


def test_without_a_port_nothing_is_recorded_and_the_library_is_not_imported() -> None:
    subprocess.run([sys.executable, "-c", OFF], check=True, timeout=30)  # noqa: S603 - see above


def test_nothing_is_recorded_after_the_port_is_closed() -> None:
    with serving_metrics(settings(), "demo"):
        assert table.is_on()
    assert not table.is_on()
    table.INPUT_TOKENS.add(1, "openai", "m")


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(ValidationError, match="HOST:PORT"):
        MetricsSettings(metrics_listen="localhost")


def test_a_port_in_use_is_an_error_that_names_the_setting(address: str) -> None:
    with (
        pytest.raises(OSError, match=f"{address}.*HEDDLE_METRICS_LISTEN"),
        serving_metrics(MetricsSettings(metrics_listen=address), "demo"),
    ):
        pass


async def test_a_blocked_event_loop_shows_as_lag(address: str) -> None:
    async with watched_loop(0.2):
        await asyncio.sleep(0)
        time.sleep(0.3)  # noqa: ASYNC251 - this is what blocks the loop

        def lag() -> float:
            return scrape(address)["heddle_event_loop_lag_seconds", ()]

        await until(lambda: lag() > 0.2)


def test_the_lag_of_usage_is_scraped_while_it_is_reported(address: str) -> None:
    name = ("heddle_usage_recorded_lag_seconds", ())
    assert name not in scrape(address)
    with gauges.reported_usage_lag(lambda: 2.5):
        assert scrape(address)[name] == 2.5
    assert name not in scrape(address)
