"""Which tests need the optional member, for environments in which it is not installed."""

import re
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

MEMBER = "heddle_migration_service"
IS_INSTALLED = find_spec(MEMBER) is not None
of_member = pytest.mark.skipif(not IS_INSTALLED, reason=f"{MEMBER} is not installed")
"""Marks a test of the member in a file that imports nothing of it."""
_TESTS = Path(__file__).parent
_IMPORT = re.compile(r"^from (\S+) import (\w+)|^import (\S+)", re.MULTILINE)


@cache
def needs_member(file: Path) -> bool:
    """Return whether a file imports the member when it is loaded, or a file of the tests does."""
    for module in _imported(file.read_text()):
        if module.startswith(MEMBER):
            return True
        helper = _TESTS / f"{module.replace('.', '/')}.py"
        if helper.is_file() and needs_member(helper):
            return True
    return False


def _imported(text: str) -> Iterator[str]:
    for module, name, whole in _IMPORT.findall(text):
        yield whole or module
        if module:
            yield f"{module}.{name}"
