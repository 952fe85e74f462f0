"""Fills a prompt template in one pass.

Only the template is searched for names. Inserted text (the user's words, the output of a tool) is
copied unchanged, so it cannot refer to another slot or lose its own braces.
"""

import re
from collections.abc import Mapping

USER_INPUT = "user_input"
# A name has a letter: `{0}` and `{1,2}` belong to format strings and regular expressions.
_NAME = re.compile(r"\{((?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63})\}")


def render(template: str, slots: Mapping[str, str]) -> str:
    """Return `template` with its names replaced.

    A name is replaced by its text between two blank lines, or removed if it has no text.
    Everything else stays unchanged.
    """
    return _NAME.sub(lambda match: _between_blank_lines(slots.get(match[1], "")), template)


def names(template: str) -> list[str]:
    """Return the names that `template` contains, in order."""
    return [match[1] for match in _NAME.finditer(template)]


def _between_blank_lines(text: str) -> str:
    return f"\n\n{text}\n\n" if text else ""
