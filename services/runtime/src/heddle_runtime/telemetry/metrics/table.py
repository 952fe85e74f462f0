"""All metrics that services record, with their labels.

The names are those of OpenTelemetry's semantic conventions, as Prometheus writes them: HTTP and RPC
of version 1.45, `gen_ai` of the conventions for generative AI 0.1.0, which may still change.

No label names an organisation, an assistant, a user or a collection, except in counters that an
operator asks for.
"""

from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING

import msgspec

from heddle_runtime.errors import error_type
from heddle_runtime.telemetry.metrics.children import ORGANIZATION, Counter, Histogram

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)
_FIRST_CHUNK_SECONDS = tuple(0.01 * 2**exponent for exponent in range(14))
_MODEL = ("gen_ai_provider_name", "gen_ai_request_model")

HTTP_REQUEST = Histogram(
    "http_server_request_duration_seconds",
    "Duration of requests to the gateway, until the last byte of the response.",
    *("http_route", "http_request_method", "http_response_status_code"),
    buckets=_SECONDS,
)
RPC_CALL = Histogram(
    "rpc_server_call_duration_seconds",
    "Duration of calls from other processes.",
    *("rpc_method", "rpc_response_status_code"),
    buckets=_SECONDS,
)
INVOKE_AGENT = Histogram(
    "gen_ai_invoke_agent_duration_seconds",
    "Duration of answers of assistants, with their tools and requests to models.",
    *("heddle_strategy", "error_type"),
    buckets=_SECONDS,
)
EXECUTE_TOOL = Histogram(
    "gen_ai_execute_tool_duration_seconds",
    "Duration of runs of tools.",
    *("gen_ai_tool_name", "error_type"),
    buckets=_SECONDS,
)
INFERENCE = Histogram(
    "gen_ai_client_inference_duration_seconds",
    "Duration of requests to models.",
    *(*_MODEL, "gen_ai_operation_name", "error_type"),
    buckets=_SECONDS,
)
FIRST_CHUNK = Histogram(
    "gen_ai_client_inference_time_to_first_chunk_seconds",
    "Time from a streamed request to a model to the first part of its answer.",
    *(*_MODEL, "gen_ai_operation_name"),
    buckets=_FIRST_CHUNK_SECONDS,
)
RETRIEVAL = Histogram(
    "heddle_retrieval_duration_seconds",
    "Duration of searches in one collection.",
    *("heddle_engine", "error_type"),
    buckets=_SECONDS,
)
INPUT_TOKENS = Counter(
    "gen_ai_client_inference_usage_input_tokens",
    "Tokens of prompts, as providers report them.",
    *_MODEL,
)
OUTPUT_TOKENS = Counter(
    "gen_ai_client_inference_usage_output_tokens",
    "Tokens of answers, as providers report them.",
    *_MODEL,
)
CACHED_TOKENS = Counter(
    "gen_ai_client_inference_usage_cache_read_input_tokens",
    "Tokens of prompts that providers read from their caches.",
    *_MODEL,
)
REASONING_TOKENS = Counter(
    "gen_ai_client_inference_usage_reasoning_output_tokens",
    "Tokens of answers that are reasoning.",
    *_MODEL,
)
EMPTY_RETRIEVALS = Counter(
    "heddle_retrieval_empty", "Searches in one collection that found nothing.", "heddle_engine"
)
DECISIONS = Counter(
    "heddle_agent_decisions",
    "Decisions of the routing agent, by who decided and whether a router's choice was rejected.",
    *("heddle_decider", "heddle_rejected"),
)
CANCELLED_STREAMS = Counter(
    "heddle_streams_cancelled",
    "Responses of the gateway that ended before they were complete: `client_gone`, `stopping`.",
    "reason",
)
QUOTA_REFUSALS = Counter(
    "heddle_quota_refusals",
    "Answers that were refused: `spent`, or `reserved` by other answers that are being generated.",
    "reason",
)
PROVIDER_RETRIES = Counter(
    "heddle_provider_retries",
    "Requests to providers that were repeated: `stale_connection`, `no_connection`, `overloaded`.",
    "reason",
)
INGESTED_DOCUMENTS = Counter(
    "heddle_ingest_documents",
    "Documents that were ingested: `new`, `replaced`, `unchanged`, `failed`.",
    "outcome",
)
DROPPED_SPANS = Counter(
    "heddle_telemetry_dropped",
    "Spans that no collector received: `queue_full`, `not_exported`, `too_many`.",
    "reason",
)
_TOKENS = (INPUT_TOKENS, OUTPUT_TOKENS, CACHED_TOKENS, REASONING_TOKENS)
METRICS = tuple(each for each in vars().values() if isinstance(each, Counter | Histogram))


def switch_on(registry: "CollectorRegistry", *, by_organization: bool) -> None:
    """Record all metrics from now on.

    Args:
        registry: Renders them.
        by_organization: Whether the counters of tokens name the organisation.
    """
    for counter in _TOKENS:
        counter.by_organization = by_organization
    for metric in METRICS:
        is_named = by_organization and metric in _TOKENS
        metric.switch_on(registry, *((ORGANIZATION,) if is_named else ()))


def switch_off() -> None:
    """Stop recording."""
    for metric in METRICS:
        metric.switch_off()


def is_on() -> bool:
    """Return whether metrics are recorded."""
    return HTTP_REQUEST.children is not None


class _Duration(msgspec.Struct):
    """Records the duration of a block and the reason of its failure."""

    histogram: Histogram
    labels: tuple[str, ...]
    started: float

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        seconds = perf_counter() - self.started
        reason = "" if error is None else error_type(error)
        self.histogram.observe(seconds, *self.labels, reason)


_NOTHING: AbstractContextManager[None] = nullcontext()


def duration(histogram: Histogram, *labels: str) -> AbstractContextManager[None]:
    """Record the duration of a block; the last label of the histogram is the failure's reason."""
    if histogram.children is None:
        return _NOTHING
    return _Duration(histogram, labels, perf_counter())
