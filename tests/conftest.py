"""Fixtures and settings of all tests."""

import gc
import os
from collections import defaultdict
from collections.abc import Generator, Sequence

import pytest
from heddle_runtime.call_metadata import CALLER, Caller
from hypothesis import settings
from memory import memory
from runtime.examples import PROFILE, examples

settings.register_profile(PROFILE, examples())
settings.load_profile(PROFILE)


SERVICES = ("ASSISTANTS", "CONNECTOR", "KNOWLEDGE", "MIGRATION", "ORCHESTRATOR", "TOOLS")


def pytest_configure() -> None:
    """Put temporary folders in memory, and let services listen on free ports by default.

    The default ports of the services would collide between tests that run at the same time.
    """
    for service in SERVICES:
        os.environ.setdefault(f"HEDDLE_{service}_LISTEN", "127.0.0.1:0")
    if room := memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(room))


ENVIRONMENTS = {"dialect", "place", "transport", "provider", "desk", "style", "client", "form"}
"""Parameters that say where a test runs. The other parameters of a test are its cases."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark most pairs of a case and an environment `exhaustive`.

    Each case still runs in one environment, and each environment runs some case. A test without
    cases runs in every environment.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        tests[item.nodeid.partition("[")[0]].append(item)
    for same_test in tests.values():
        pairs = [_case_and_environment(item) for item in same_test]
        cases = list(dict.fromkeys(case for case, _ in pairs))
        environments = list(dict.fromkeys(environment for _, environment in pairs))
        step = min(len(cases), len(environments))
        for item, (case, environment) in zip(same_test, pairs, strict=True):
            if cases.index(case) % step != environments.index(environment) % step:
                item.add_marker(pytest.mark.exhaustive)


def _case_and_environment(item: pytest.Item) -> tuple[str, str]:
    callspec = getattr(item, "callspec", None)
    indices = callspec.indices.items() if callspec else ()
    environment = [index for index in indices if index[0] in ENVIRONMENTS]
    return repr([index for index in indices if index not in environment]), repr(environment)


def pytest_collection_finish() -> None:
    """Exclude loaded modules from garbage collection, which would pause tests for seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nobody_calls() -> Generator[None]:
    """Reset the caller after each test: tests that are not async share one context."""
    before = CALLER.set(Caller(""))
    yield
    CALLER.reset(before)
