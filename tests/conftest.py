"""Fixtures and settings of all tests."""

import gc
import os
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Generator, Sequence
from zlib import crc32

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
    Garbage collection pauses while pytest collects the tests, which would take a quarter longer.
    """
    gc.disable()
    for service in SERVICES:
        os.environ.setdefault(f"HEDDLE_{service}_LISTEN", "127.0.0.1:0")
    if room := memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(room))


Indices = tuple[tuple[str, int], ...]
ENVIRONMENTS = {"dialect", "place", "transport", "provider", "desk", "style", "client", "form"}
"""Parameters that say where a test runs. The other parameters of a test are its cases."""
INTERCHANGEABLE = {"dialect", "place", "transport"}
"""Environments in which all tests pass alike. A test without cases runs in one of them."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark most pairs of a case and an environment `exhaustive`.

    Each case still runs in one environment, and each environment runs some case. A test without
    cases runs in every environment, or in one of those that are interchangeable.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("exhaustive"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, same_test in tests.items():
        pairs = [_case_and_environment(item) for item in same_test]
        cases = list(dict.fromkeys(case for case, _ in pairs))
        environments = list(dict.fromkeys(environment for _, environment in pairs))
        step, offset = min(len(cases), len(environments)), 0
        if len(cases) == 1 and all(dict(each).keys() <= INTERCHANGEABLE for each in environments):
            step, offset = len(environments), crc32(name.encode())
        for item, (case, environment) in zip(same_test, pairs, strict=True):
            if (cases.index(case) + offset) % step != environments.index(environment) % step:
                item.add_marker(pytest.mark.exhaustive)


def _case_and_environment(item: pytest.Item) -> tuple[Indices, Indices]:
    callspec = getattr(item, "callspec", None)
    indices = tuple(callspec.indices.items()) if callspec else ()
    environment = tuple(index for index in indices if index[0] in ENVIRONMENTS)
    return tuple(index for index in indices if index not in environment), environment


def pytest_collection_finish() -> None:
    """Exclude loaded modules from garbage collection, which would pause tests for seconds."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def secrets_folder() -> Generator[str]:
    """A folder for the secrets that services of this test run share."""
    with tempfile.TemporaryDirectory(prefix="heddle-secrets-") as folder:
        yield folder


@pytest.fixture(autouse=True)
def own_secret(secrets_folder: str) -> None:
    """Give the processes of each test a secret of their own, outside of the checkout."""
    os.environ["HEDDLE_LOCAL_SECRET_FILE"] = f"{secrets_folder}/{uuid.uuid4().hex}"


@pytest.fixture(autouse=True)
def nobody_calls() -> Generator[None]:
    """Reset the caller after each test: tests that are not async share one context."""
    before = CALLER.set(Caller(""))
    yield
    CALLER.reset(before)
