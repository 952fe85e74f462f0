"""Counters and histograms whose children are found in a dictionary.

`labels()` of the library checks its arguments and takes a lock for each value, which costs more
than the value itself.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from heddle_runtime.call_metadata import caller
from heddle_runtime.identity import home
from heddle_runtime.telemetry import spans

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

MAX_CHILDREN = 2_000
"""Combinations of label values of a metric. Further ones are counted together."""
OTHER = "_other"
"""The value of all labels for the combinations beyond."""
Labels = tuple[str | int, ...]
ORGANIZATION = "heddle_organization"


ChildT = TypeVar("ChildT")
ChildT_co = TypeVar("ChildT_co", covariant=True)


class _Family(Protocol[ChildT_co]):
    """A metric of the library."""

    def labels(self, *values: object) -> ChildT_co:
        """Return the child of label values."""


class Histogram:
    """A histogram. Records nothing before `switch_on`."""

    __slots__ = ("_buckets", "_children", "_family", "help", "labels", "name")

    def __init__(self, name: str, help_: str, *labels: str, buckets: Iterable[float]) -> None:
        self.name, self.help, self.labels = name, help_, labels
        self._buckets = tuple(buckets)
        self._children: dict[Labels, Any] | None = None
        self._family: _Family[Any] | None = None

    def switch_on(self, registry: "CollectorRegistry") -> None:
        """Record values from now on."""
        import prometheus_client  # noqa: PLC0415 - only if metrics are on

        self._family = prometheus_client.Histogram(
            self.name, self.help, self.labels, buckets=self._buckets, registry=registry
        )
        self._children = {}

    def switch_off(self) -> None:
        """Record nothing any more."""
        self._family = self._children = None

    @property
    def is_on(self) -> bool:
        """Whether values are recorded."""
        return self._children is not None

    def observe(self, value: float, *labels: str | int) -> None:
        """Record a value; in a request that is traced, with its span as the exemplar."""
        children = self._children
        if children is None:
            return
        child = children.get(labels)
        if child is None:
            child = _add(children, self._family, labels)
        child.observe(value, spans.exemplar())


class Counter:
    """A counter. Records nothing before `switch_on`."""

    __slots__ = ("_by_organization", "_children", "_family", "help", "labels", "may_name", "name")

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
        self._children: dict[Labels, Any] | None = None
        self._family: _Family[Any] | None = None

    def switch_on(self, registry: "CollectorRegistry", *, by_organization: bool) -> None:
        """Count from now on."""
        import prometheus_client  # noqa: PLC0415 - only if metrics are on

        self._by_organization = by_organization and self.may_name
        labels = (*self.labels, ORGANIZATION) if self._by_organization else self.labels
        family = prometheus_client.Counter(self.name, self.help, labels, registry=registry)
        # A counter without labels is in the scrape before it counts, which a rate needs.
        self._children = {} if labels else {(): family}
        self._family = family

    def switch_off(self) -> None:
        """Count nothing any more."""
        self._family = self._children = None

    def add(self, amount: float, *labels: str | int) -> None:
        """Add to the counter. It also appears in a scrape if nothing is added to it."""
        children = self._children
        if children is None:
            return
        if self._by_organization:
            labels = (*labels, home(caller().identity))
        child = children.get(labels)
        if child is None:
            child = _add(children, self._family, labels)
        if amount:
            child.inc(amount)


def _add(
    children: dict[Labels, ChildT], family: "_Family[ChildT] | None", labels: Labels
) -> ChildT:
    """Return a new child, or the one of all combinations beyond the limit."""
    if len(children) >= MAX_CHILDREN:
        labels = (OTHER,) * len(labels)
        if labels in children:
            return children[labels]
    assert family is not None  # noqa: S101 - `switch_on` sets both
    child = children[labels] = family.labels(*labels)
    return child
