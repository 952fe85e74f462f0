"""The plugin of pytest that records the calls of each test: `pytest -p mutants.recording`."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mutants import calls


def pytest_configure() -> None:
    """Let the processes that tests start record their calls, too."""
    folders = [Path(__file__).parent / "site", Path(__file__).parents[1]]
    os.environ["PYTHONPATH"] = os.pathsep.join(map(str, folders))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Record what one test calls, its fixtures included."""
    os.environ[calls.TEST] = item.nodeid
    calls.called.clear()
    calls.begin(write_at_once=False)
    result = yield
    sys.settrace(None)
    calls.record(list(calls.called.values()), item.nodeid)
    return result
