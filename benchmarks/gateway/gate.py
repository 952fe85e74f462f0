"""The limits that a release has to keep. All are ratios within one run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from benchmarks.gateway.summary import Spread, Summary
from benchmarks.gateway.systems import LAMB, OBSERVED, ONE, SEPARATE, TRACED


@dataclass(frozen=True, slots=True)
class Limit:
    """What one figure of one system has to be."""

    scenario: str
    system: str
    figure: str
    """A ratio of `Summary`."""
    bound: float
    says: str
    at_least: bool = False

    def judge(self, summaries: Sequence[Summary]) -> "Verdict":
        """Compare the limit with what was measured."""
        for one in summaries:
            if (one.scenario, one.system) == (self.scenario, self.system):
                spread: Spread | None = getattr(one, self.figure)
                return Verdict(self, spread.median if spread else None, one.errors)
        return Verdict(self, None, 0)


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one limit was kept."""

    limit: Limit
    measured: float | None
    errors: int

    @property
    def kept(self) -> bool:
        """Whether all is well. What was not measured, or not rightly, is not."""
        if self.measured is None or self.errors:
            return False
        if self.limit.at_least:
            return self.measured >= self.limit.bound
        return self.measured <= self.limit.bound

    def __str__(self) -> str:
        sign = ">=" if self.limit.at_least else "<="
        measured = "not measured" if self.measured is None else f"{self.measured:.3f}"
        errors = f", {self.errors} errors" if self.errors else ""
        word = "kept  " if self.kept else "MISSED"
        return f"{word}  {self.limit.says} {sign} {self.limit.bound:g}: {measured}{errors}"


LIMITS = (
    Limit(
        "unary_c16",
        SEPARATE,
        "cpu_to_reference",
        9.0,
        "separate processes, 16 clients: CPU per request, times the reference's",
    ),
    Limit(
        "paced_c64",
        SEPARATE,
        "cpu_to_reference",
        4.5,
        "separate processes, 64 paced streams: CPU per token, times the reference's",
    ),
    Limit(
        "paced_c64",
        SEPARATE,
        "delivered",
        0.8,
        "separate processes, 64 paced streams: tokens delivered, of the direct rate",
        at_least=True,
    ),
    Limit(
        "unary_c16",
        ONE,
        "cpu_to_reference",
        1.9,
        "one process, 16 clients: CPU per request, times the reference's",
    ),
    Limit(
        "unary_c16",
        LAMB,
        "cpu_to_reference",
        1.3,
        "in front of LAMB, 16 clients: CPU per request, times the reference's",
    ),
    Limit(
        "paced_c64",
        LAMB,
        "cpu_to_reference",
        1.3,
        "in front of LAMB, 64 paced streams: CPU per token, times the reference's",
    ),
    Limit(
        "unary_c16",
        OBSERVED,
        "cpu_to_one",
        1.03,
        "metrics and 1 % traces, 16 clients: CPU per request, times that without",
    ),
    Limit(
        "unary_c16",
        TRACED,
        "cpu_to_one",
        1.1,
        "10 % traces, 16 clients: CPU per request, times that without",
    ),
)


def judge(
    summaries: Sequence[Summary], systems: Collection[str], scenarios: Collection[str]
) -> list[Verdict]:
    """Judge every limit of what was to be measured."""
    return [
        limit.judge(summaries)
        for limit in LIMITS
        if limit.system in systems and limit.scenario in scenarios
    ]
