"""Filling a prompt template in one pass.

Only the template is ever searched for names. What is put in - a person's words, a tool's output -
is copied as it is, so nothing in it can pull in another slot or lose its own braces.
"""

import re
from collections.abc import Mapping

USER_INPUT = "user_input"
# A name has a letter: `{0}` and `{1,2}` are somebody's format string or regular expression.
_NAME = re.compile(r"\{((?=[0-9_]*[A-Za-z])[A-Za-z0-9_]{1,63})\}")


def render(template: str, slots: Mapping[str, str]) -> str:
    """Return `template` with its names replaced.

    A name that has text is replaced by that text between two blank lines; one without text, or
    that nothing provides, is removed. Everything else stays byte for byte.
    """
    return _NAME.sub(lambda match: _set_apart(slots.get(match[1], "")), template)


def names(template: str) -> list[str]:
    """Return the names that `template` contains, in order."""
    return [match[1] for match in _NAME.finditer(template)]


def _set_apart(text: str) -> str:
    return f"\n\n{text}\n\n" if text else ""
