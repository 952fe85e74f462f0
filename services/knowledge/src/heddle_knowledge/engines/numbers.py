"""Which texts are numbers."""

import re

from heddle_knowledge.engines.conditions import NUMBER

_NUMBER = re.compile(NUMBER)


def number(text: str) -> float | None:
    """Read a text as a number, if every engine would."""
    return float(text) if _NUMBER.match(text) and not text.endswith("\n") else None
