"""Counters and histograms of `prometheus-client`, found by the values of their labels.

The library has no limit for values that callers choose, such as names of models, and its `labels()`
takes a lock and checks its arguments for each value. A dictionary has the limit and no lock.
"""

from typing import TYPE_CHECKING, Any

from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import home
from heddle_runtime.telemetry import spans

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

MAX_CHILDREN = 2_000
"""The number of combinations of label values of a metric. Further ones are counted together."""
OTHER = "_other"
"""The value of all labels for the combinations beyond."""
Labels = tuple[str | int, ...]
ORGANIZATION = "heddle_organization"


class _Metric:
    """A metric that records nothing before it is switched on."""

    def __init__(self, name: str, help_: str, *labels: str, **options: Any) -> None:  # noqa: ANN401 - the library's
        """Declare a metric; the options are those of the library's class of the same name."""
        self.name, self._help, self._labels, self._options = name, help_, labels, options
        self.children: dict[Labels, Any] | None = None
        """The library's objects by the values of the labels; None: nothing is recorded."""
        self._metric: Any = None

    def switch_on(self, registry: "CollectorRegistry", *more_labels: str) -> None:
        import prometheus_client  # noqa: PLC0415 - only if metrics are on

        kind = getattr(prometheus_client, type(self).__name__)
        labels = (*self._labels, *more_labels)
        self._metric = kind(self.name, self._help, labels, registry=registry, **self._options)
        self.children = {}

    def switch_off(self) -> None:
        self.children = self._metric = None

    def _child(self, children: dict[Labels, Any], labels: Labels) -> Any:  # noqa: ANN401 - the library has one class for each
        if len(children) >= MAX_CHILDREN:
            labels = (OTHER,) * len(labels)
        return children.setdefault(labels, self._metric.labels(*labels))


class Histogram(_Metric):
    """A histogram."""

    def observe(self, value: float, *labels: str | int) -> None:
        """Record a value; in a request that is traced, with its span as the exemplar."""
        children = self.children
        if children is None:
            return
        child = children.get(labels) or self._child(children, labels)
        traced = spans.tracer is not None and spans.is_drawn()
        child.observe(value, spans.exemplar() if traced else None)


class Counter(_Metric):
    """A counter."""

    by_organization = False
    """Whether the organisation of the caller is one more label."""

    def add(self, amount: float, *labels: str | int) -> None:
        """Add to the counter. It also appears in a scrape if nothing is added to it.

        Negative amounts add nothing.
        """
        children = self.children
        if children is None:
            return
        if self.by_organization:
            labels = (*labels, home(caller().identity))
        child = children.get(labels) or self._child(children, labels)
        if amount > 0:
            child.inc(amount)
