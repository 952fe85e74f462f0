"""Values that are read when they are scraped: calls in progress, limits, lags, the version."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from operator import attrgetter
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

if TYPE_CHECKING:
    from prometheus_client.metrics_core import GaugeMetricFamily

_LAG_SECONDS = 30.0


class Limited(Protocol):
    """An object that limits the number of concurrent calls."""

    transport: str
    """`http` or `grpc`."""

    @property
    def in_progress(self) -> int:
        """The number of calls in progress."""

    @property
    def limit(self) -> int:
        """The maximum number of concurrent calls."""


_LIMITED: "WeakSet[Limited]" = WeakSet()
_lags: deque[tuple[float, float]] = deque(maxlen=256)
_usage_lag: Callable[[], float] | None = None


def add_limited(limited: Limited) -> None:
    """Report the calls of an object as long as it exists."""
    _LIMITED.add(limited)


def add_loop_lag(seconds: float) -> None:
    """Report how late the event loop ran a timer."""
    _lags.append((time.monotonic(), max(0.0, seconds)))


@contextmanager
def reported_usage_lag(lag: Callable[[], float]) -> Iterator[None]:
    """Report for how long counted usage has waited to be recorded, until the block is left."""
    global _usage_lag  # noqa: PLW0603 - one process counts usage in one place
    _usage_lag = lag
    try:
        yield
    finally:
        _usage_lag = None


class Gauges:
    """The collector of these values."""

    def __init__(self, service: str) -> None:
        self._service = service

    def collect(self) -> "Iterator[GaugeMetricFamily]":
        """Yield the values. Called in a thread."""
        from prometheus_client.metrics_core import GaugeMetricFamily  # noqa: PLC0415 - only if on

        limited = list(_LIMITED)
        for name, help_, attribute in (
            ("heddle_calls_in_progress", "Calls that are in progress.", "in_progress"),
            ("heddle_calls_limit", "Calls that may be in progress; further ones get 429.", "limit"),
        ):
            family = GaugeMetricFamily(name, help_, labels=["heddle_transport"])
            for transport in sorted({each.transport for each in limited}):
                same = [each for each in limited if each.transport == transport]
                family.add_metric([transport], sum(map(attrgetter(attribute), same)))
            yield family
        now = time.monotonic()
        lag = max((lag for at, lag in tuple(_lags) if now - at < _LAG_SECONDS), default=0.0)
        yield GaugeMetricFamily(
            "heddle_event_loop_lag_seconds",
            "The longest delay of a timer of the event loop within the last 30 seconds.",
            value=lag,
        )
        if _usage_lag is not None:
            yield GaugeMetricFamily(
                "heddle_usage_recorded_lag_seconds",
                "For how long the oldest counted usage has waited to be recorded.",
                value=_usage_lag(),
            )
        built = GaugeMetricFamily(
            "heddle_build_info", "The version.", labels=["heddle_service", "heddle_version"]
        )
        built.add_metric([self._service, version("heddle-runtime")], 1)
        yield built
