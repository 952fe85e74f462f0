"""The table of a run."""

from dataclasses import dataclass, field

from chaos.history import History

NOTICED_WITHIN, RECOVERED_WITHIN = 5.0, 3.0
"""Seconds until a fault shows, and until the load succeeds after the fault ended."""
MAX_P99_SECONDS = 0.2
"""Of an operation of others while a plugin misbehaves, on a machine without other load."""
_HEAD = (
    "Fault",
    "Operations",
    "Typed errors",
    "Untyped ends",
    "Lost writes",
    "Noticed",
    "Recovered",
    "p99 of others",
)


@dataclass
class Report:
    """The rows of all scenarios."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(
        self,
        fault: str,
        history: History,
        *,
        noticed: float | None = None,
        recovered: float | None = None,
        p99: tuple[float, float] | None = None,
        gateway_ends: bool = False,
        errors_allowed: bool = True,
    ) -> None:
        """Add a row, and check it.

        Args:
            fault: What was done.
            history: What the clients saw.
            noticed: Seconds until the fault showed.
            recovered: Seconds until the load succeeded after the fault ended.
            p99: The 99th percentile of the seconds of an operation during the fault, and what is
                permitted.
            gateway_ends: Whether the fault ends the gateway, which breaks connections of clients.
            errors_allowed: Whether operations may fail with a typed error.

        Raises:
            AssertionError: The history does not fit the model, or a time is too long.
        """
        counts = history.counts()
        untyped = history.ends("untyped") if gateway_ends else history.ends("untyped", "torn")
        self.rows.append(
            (
                fault,
                f"{counts.total():,}",
                f"{counts['error']:,}",
                str(len(untyped)),
                str(len(history.lost)),
                _seconds(noticed),
                _seconds(recovered),
                "-" if p99 is None else f"{p99[0] * 1000:.0f} ms",
            )
        )
        assert not untyped, untyped[:5]
        assert not history.lost, history.lost[:5]
        assert errors_allowed or not counts["error"], history.ends("error")[:5]
        assert noticed is None or noticed <= NOTICED_WITHIN, noticed
        assert recovered is None or recovered <= RECOVERED_WITHIN, recovered
        assert p99 is None or p99[0] <= p99[1], p99

    def table(self) -> str:
        """Return the rows as a Markdown table."""
        lines = [_HEAD, ("---",) * len(_HEAD), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def permitted(calm: float) -> float:
    """Return the p99 that a fault permits, from that without it: a busy machine takes longer."""
    return max(MAX_P99_SECONDS, 2 * calm)


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
