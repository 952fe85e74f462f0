"""Counters and histograms, whose values the library renders when they are scraped.

An observation of the library searches the bucket from the first one on, takes locks and checks its
arguments, which together costs a request several per cent. Values are recorded without a lock: one
thread at a time writes to a metric, and a scrape reads copies.
"""

import time
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from itertools import accumulate
from math import inf
from typing import TYPE_CHECKING, Any

from heddle_runtime.call_metadata import caller
from heddle_runtime.identity import home
from heddle_runtime.telemetry import spans

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry
    from prometheus_client.metrics_core import CounterMetricFamily, HistogramMetricFamily
    from prometheus_client.samples import Exemplar

MAX_CHILDREN = 2_000
"""Combinations of label values of a metric. Further ones are counted together."""
OTHER = "_other"
"""The value of all labels for the combinations beyond."""
Labels = tuple[str | int, ...]
ORGANIZATION = "heddle_organization"


class _Child:
    """The observations of one combination of label values."""

    __slots__ = ("counts", "exemplars", "total")

    def __init__(self, buckets: int) -> None:
        self.counts = [0] * buckets
        self.total = 0.0
        self.exemplars: dict[int, Exemplar] = {}
        """The last traced observation of each bucket."""


class Histogram:
    """A histogram. Records nothing before `switch_on`."""

    __slots__ = ("_bounds", "children", "help", "labels", "name")

    def __init__(self, name: str, help_: str, *labels: str, buckets: Iterable[float]) -> None:
        self.name, self.help, self.labels = name, help_, labels
        self._bounds = (*map(float, buckets), inf)
        self.children: dict[Labels, _Child] | None = None
        """By the values of the labels; None: it records nothing."""

    def switch_on(self, registry: "CollectorRegistry") -> None:
        """Record values from now on."""
        self.children = {}
        registry.register(self)

    def switch_off(self) -> None:
        """Record nothing any more."""
        self.children = None

    def observe(self, value: float, *labels: str | int) -> None:
        """Record a value; in a request that is traced, with its span as the exemplar."""
        self.record(value, labels)

    def record(self, value: float, labels: Labels) -> None:
        """Record a value, as `observe`, with the values of the labels in one tuple."""
        children = self.children
        if children is None:
            return
        child = children.get(labels)
        if child is None:
            labels = _limited(children.keys(), labels)
            child = children.setdefault(labels, _Child(len(self._bounds)))
        bucket = bisect_left(self._bounds, value)
        child.counts[bucket] += 1
        child.total += value
        if spans.tracer is not None and spans.is_drawn():
            child.exemplars[bucket] = _exemplar(spans.exemplar(), value)

    def collect(self) -> "Iterator[HistogramMetricFamily]":
        """Yield what is rendered. Called in a thread."""
        from prometheus_client.metrics_core import HistogramMetricFamily  # noqa: PLC0415 - only if on
        from prometheus_client.utils import floatToGoString  # noqa: PLC0415 - as above

        names = [floatToGoString(bound) for bound in self._bounds]  # type: ignore[no-untyped-call] # has no annotations
        family = HistogramMetricFamily(self.name, self.help, labels=self.labels)
        for labels, child in list((self.children or {}).items()):
            counts = accumulate(child.counts.copy())
            buckets: Any = [
                (name, count, child.exemplars.get(bucket))
                for bucket, (name, count) in enumerate(zip(names, counts, strict=True))
            ]
            family.add_metric([str(each) for each in labels], buckets, child.total)
        yield family


class Counter:
    """A counter. Records nothing before `switch_on`."""

    __slots__ = ("_by_organization", "_counts", "help", "labels", "may_name", "name")

    def __init__(self, name: str, help_: str, *labels: str, may_name: bool = False) -> None:
        """Declare a counter.

        Args:
            name: Its name, without `_total`.
            help_: What it counts.
            labels: The names of its labels.
            may_name: Whether an operator may add the organisation as a label.
        """
        self.name, self.help, self.labels, self.may_name = name, help_, labels, may_name
        self._by_organization = False
        self._counts: dict[Labels, float] | None = None

    def switch_on(self, registry: "CollectorRegistry", *, by_organization: bool) -> None:
        """Count from now on."""
        self._by_organization = by_organization and self.may_name
        self._counts = {}
        registry.register(self)

    def switch_off(self) -> None:
        """Count nothing any more."""
        self._counts = None

    def add(self, amount: float, *labels: str | int) -> None:
        """Add to the counter. It also appears in a scrape if nothing is added to it."""
        self.count(amount, labels)

    def count(self, amount: float, labels: Labels) -> bool:
        """Add to the counter, as `add`, and return whether it is the first time for these labels.

        Negative amounts add nothing.
        """
        counts = self._counts
        if counts is None:
            return False
        if self._by_organization:
            labels = (*labels, home(caller().identity))
        count = counts.get(labels)
        if count is not None:
            if amount > 0:
                counts[labels] = count + amount
            return False
        labels = _limited(counts.keys(), labels)
        counts[labels] = counts.get(labels, 0.0) + max(0.0, amount)
        return True

    def collect(self) -> "Iterator[CounterMetricFamily]":
        """Yield what is rendered. Called in a thread."""
        from prometheus_client.metrics_core import CounterMetricFamily  # noqa: PLC0415 - only if on

        names = (*self.labels, ORGANIZATION) if self._by_organization else self.labels
        family = CounterMetricFamily(self.name, self.help, labels=names)
        for labels, count in list((self._counts or {}).items()):
            family.add_metric([str(each) for each in labels], count)
        yield family


def _limited(known: Collection[Labels], labels: Labels) -> Labels:
    """Return the labels of a new child: the common ones for all combinations beyond the limit."""
    return labels if len(known) < MAX_CHILDREN else (OTHER,) * len(labels)


def _exemplar(span: dict[str, str], value: float) -> "Exemplar":
    from prometheus_client.samples import Exemplar  # noqa: PLC0415 - only if metrics are on

    return Exemplar(span, value, time.time())
