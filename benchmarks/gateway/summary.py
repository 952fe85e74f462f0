"""From measurements to figures that may be compared."""

from collections.abc import Callable, Iterable, Sequence
from math import nan
from statistics import median

import msgspec

from benchmarks.gateway.measure import Measurement
from benchmarks.gateway.systems import DIRECT, ONE, REFERENCE

BUSY = 0.5
"""Share of foreign CPU above which a round says little."""


class Spread(msgspec.Struct, frozen=True):
    """The median over rounds, and the range."""

    median: float
    low: float
    high: float


class Summary(msgspec.Struct, frozen=True):
    """One system under one load, over all rounds. Ratios are taken within rounds first."""

    scenario: str
    system: str
    rate: Spread
    p50: Spread
    p99: Spread
    added_p50: Spread | None
    added_p99: Spread | None
    first_token: Spread
    age_p50: Spread
    age_p99: Spread
    cpu: Spread
    cpu_to_reference: Spread | None
    cpu_to_one: Spread | None
    """Against one process without metrics and traces."""
    rate_to_reference: Spread | None
    delivered: Spread | None
    """Rate against the direct rate."""
    memory: Spread
    foreign: Spread
    errors: int
    first_error: str
    busy_rounds: int
    """Rounds in which others had more than half of the machine."""


Figure = Callable[[Measurement], float]
Compare = Callable[[float, float], float]


def summarize(measurements: Sequence[Measurement]) -> list[Summary]:
    """Return a summary for each scenario and system."""
    keys = sorted({(one.scenario, one.system) for one in measurements})
    return [_summary(scenario, system, measurements) for scenario, system in keys]


def _summary(scenario: str, system: str, measurements: Sequence[Measurement]) -> Summary:
    same = [one for one in measurements if one.scenario == scenario]
    own = [one for one in same if one.system == system]

    def against(peer: str, figure: Figure, compare: Compare) -> Spread | None:
        peers = {one.round: figure(one) for one in same if one.system == peer}
        pairs = [(figure(one), peers[one.round]) for one in own if one.round in peers]
        return spread(compare(mine, theirs) for mine, theirs in pairs) if pairs else None

    return Summary(
        scenario=scenario,
        system=system,
        rate=spread(map(_rate, own)),
        p50=spread(map(_p50, own)),
        p99=spread(map(_p99, own)),
        added_p50=against(DIRECT, _p50, _difference),
        added_p99=against(DIRECT, _p99, _difference),
        first_token=spread(one.outcome.first_token.p50 for one in own),
        age_p50=spread(one.outcome.token_age.p50 for one in own),
        age_p99=spread(one.outcome.token_age.p99 for one in own),
        cpu=spread(map(_cpu, own)),
        cpu_to_reference=against(REFERENCE, _cpu, _ratio),
        cpu_to_one=against(ONE, _cpu, _ratio),
        rate_to_reference=against(REFERENCE, _rate, _ratio),
        delivered=against(DIRECT, _rate, _ratio),
        memory=spread(one.memory for one in own),
        foreign=spread(one.foreign for one in own),
        errors=sum(one.outcome.errors for one in own),
        first_error=next((one.outcome.first_error for one in own if one.outcome.errors), ""),
        busy_rounds=sum(one.foreign > BUSY for one in own),
    )


def spread(figures: Iterable[float]) -> Spread:
    """Return median and range of `figures`."""
    known = list(figures)
    return Spread(median(known), min(known), max(known))


def _rate(one: Measurement) -> float:
    return one.rate


def _cpu(one: Measurement) -> float:
    return one.cpu


def _p50(one: Measurement) -> float:
    return one.outcome.latency.p50


def _p99(one: Measurement) -> float:
    return one.outcome.latency.p99


def _ratio(mine: float, theirs: float) -> float:
    return mine / theirs if theirs else nan  # a peer that failed; no limit is kept by that


def _difference(mine: float, theirs: float) -> float:
    return mine - theirs
