"""The table of a run."""

from dataclasses import dataclass, field

from chaos.stage import Stage

NOTICED_WITHIN, RECOVERED_WITHIN = 5.0, 3.0
"""Seconds until a fault shows, and until the load succeeds after the fault ended."""
_HEAD = (
    "Fault",
    "Operations",
    "Typed errors",
    "Untyped ends",
    "Lost writes",
    "Noticed",
    "Recovered",
)


@dataclass
class Report:
    """The rows of all scenarios."""

    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(
        self,
        fault: str,
        stage: Stage,
        *,
        noticed: float | None = None,
        recovered: float | None = None,
    ) -> None:
        """Add a row, and check it.

        Raises:
            AssertionError: The history does not fit the model, or a time is too long.
        """
        history = stage.history
        counts = history.counts()
        self.rows.append(
            (
                fault,
                f"{counts.total():,}",
                f"{counts['error']:,}",
                str(counts["untyped"]),
                str(len(history.lost)),
                "-" if noticed is None else f"{noticed:.1f} s",
                "-" if recovered is None else f"{recovered:.1f} s",
            )
        )
        assert not history.untyped(), history.untyped()[:5]
        assert not history.lost, history.lost[:5]
        assert noticed is None or noticed <= NOTICED_WITHIN, noticed
        assert recovered is None or recovered <= RECOVERED_WITHIN, recovered

    def table(self) -> str:
        """Return the rows as a Markdown table."""
        lines = [_HEAD, ("---",) * len(_HEAD), *self.rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
