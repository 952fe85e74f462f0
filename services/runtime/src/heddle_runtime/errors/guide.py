"""Explains to callers and operators what to do about a failure, by its reason."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("guide.toml")


@dataclass(frozen=True, slots=True)
class Explanation:
    """The explanation of a reason. Texts may contain code in backticks."""

    meaning: str
    causes: tuple[str, ...]
    remedies: tuple[str, ...]
    pages: tuple[str, ...]
    """Pages of the documentation."""


@cache
def explanations() -> dict[str, Explanation]:
    """Return the explanation of each reason, in the order of the contract."""
    entries = tomllib.loads(_FILE.read_text())
    return {
        reason: Explanation(
            entry["meaning"],
            tuple(entry["causes"]),
            tuple(entry["remedies"]),
            tuple(entry["pages"]),
        )
        for reason, entry in entries.items()
    }


def anchor(reason: str) -> str:
    """Return the name of a reason in addresses."""
    return reason.lower().replace("_", "-")
