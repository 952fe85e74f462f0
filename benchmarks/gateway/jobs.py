"""What the benchmark asks of the load client, and what it is told."""

from collections.abc import Sequence

import msgspec


class Job(msgspec.Struct, frozen=True):
    """Load for one system."""

    port: int
    path: str
    model: str
    clients: int
    """Connections, each with one request at a time."""
    tokens: int
    """Length of every answer."""
    stream: bool = False
    pace_ms: int = 0
    """Time between two tokens at the upstream; 0 is as fast as it can."""
    seconds: float = 1.0
    """No request is started later than this."""
    requests: int = 1_000_000
    """No more requests than these are started."""
    answer_within: float = 30.0
    """An answer that takes longer after the last start is an error."""
    questions: tuple[str, ...] = ()
    """Questions that are asked in turns; none: the client's own."""
    earlier: int = 0
    """Messages before each question."""


class Percentiles(msgspec.Struct, frozen=True):
    """The middle and the tail, in milliseconds."""

    p50: float = 0.0
    p95: float = 0.0
    p99: float = 0.0


class Outcome(msgspec.Struct, frozen=True):
    """What came of a job. Only answers that were right in every respect are counted."""

    requests: int
    tokens: int
    seconds: float
    """From the first request to the last answer."""
    latency: Percentiles
    first_token: Percentiles
    """Time to the first token of a stream."""
    token_age: Percentiles
    """Time from a token's leaving the upstream to its arrival here."""
    errors: int = 0
    first_error: str = ""


def percentiles(milliseconds: Sequence[float]) -> Percentiles:
    """Return the nearest-rank percentiles, zeros of nothing."""
    if not milliseconds:
        return Percentiles()
    ranked = sorted(milliseconds)
    last = len(ranked) - 1
    return Percentiles(*(ranked[round(last * share)] for share in (0.5, 0.95, 0.99)))
