"""What the checks find."""

from dataclasses import asdict, dataclass
from typing import Literal

Result = Literal["ok", "warning", "wrong"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    check: str
    """What was checked."""
    result: Result
    finding: str
    remedy: str = ""
    """What to do; empty if nothing is wrong."""

    def members(self) -> dict[str, str]:
        """Return the finding as members of JSON."""
        return asdict(self)


def explained(check: str, result: Result, problem: str) -> Finding:
    """Return the finding of a problem whose text ends with its remedy, as those of services do."""
    text, _, remedy = problem.partition(". ")
    if not remedy:
        return Finding(check, result, text, "See docs/faults.md, and the log of the service.")
    return Finding(check, result, f"{text}.", remedy)
