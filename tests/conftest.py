"""Fixtures and settings of all tests."""

import gc
import os
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Generator, Sequence
from pathlib import Path
from zlib import crc32

import password_costs
import preloaded
import pytest
import run_reaper
from forks import pytest_addoption, pytest_runtestloop
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import DEVELOPER
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from hypothesis import settings
from memory import memory
from optional_member import IS_INSTALLED, needs_member
from runtime.examples import NIGHTLY, PROFILE, examples

__all__ = ["pytest_addoption", "pytest_runtestloop"]
settings.register_profile(PROFILE, examples())
settings.load_profile(PROFILE)


SERVICES = ("ASSISTANTS", "CONNECTOR", "KNOWLEDGE", "MIGRATION", "ORCHESTRATOR", "TOOLS")


def pytest_configure() -> None:
    """Put temporary folders in memory, and let services listen on free ports by default.

    Processes that tests start end with the run, also if it is killed. The default ports of the
    services would collide between tests that run at the same time.
    Garbage collection pauses while pytest collects the tests, which would take a quarter longer.
    """
    gc.disable()
    run_reaper.start()
    password_costs.make_cheap()
    preloaded.use_for_workers()
    CALLER.set(Caller("", DEVELOPER))  # of fixtures that serve several tests
    for service in SERVICES:
        os.environ.setdefault(f"HEDDLE_{service}_LISTEN", "127.0.0.1:0")
    if room := memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(room))


class LeftOut(pytest.Module):
    """A file whose tests do not run here."""

    def collect(self) -> Sequence[pytest.Item]:
        """Return no test."""
        return []


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> LeftOut | None:
    """Leave out the tests of the optional member where it is not installed."""
    if IS_INSTALLED or not needs_member(module_path):
        return None
    return LeftOut.from_parent(parent, path=module_path)


Indices = tuple[tuple[str, int], ...]
ENVIRONMENTS = {"dialect", "place", "transport", "provider", "desk", "style", "client", "form"}
"""Parameters that say where a test runs. The other parameters of a test are its cases."""
INTERCHANGEABLE = {"dialect", "place", "transport", "desk"}
"""Environments in which all tests pass alike. A test without cases runs in one of them."""
STORAGE = {"dialect", "place"}
"""Environments of which the first is the fastest. A tenth of the tests runs in the others."""
TESTS_OF_STORAGE = (
    "tests/assistants/database/",
    "tests/knowledge/store/",
    "tests/knowledge/pages/",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Mark most pairs of a case and an environment `exhaustive`.

    Each case still runs in one environment, and each environment runs some case, except that a
    tenth of the cases runs on servers of databases and objects where storage is not what is tested:
    the others are marked `nightly`.
    A test without cases runs in every environment, or in one of those that are interchangeable.
    """
    tests: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if not item.get_closest_marker("exhaustive"):
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, same_test in tests.items():
        pairs = [_case_and_environment(item) for item in same_test]
        cases = sorted({case for case, _ in pairs})
        environments = sorted({environment for _, environment in pairs})
        if environments[0] and _is_beside_storage(name, environments):
            for item, (case, environment) in zip(same_test, pairs, strict=True):
                if environment != _sampled_environment(f"{name}{case}", environments):
                    _mark_beside_storage(item)
            continue
        step, offset = min(len(cases), len(environments)), 0
        if len(cases) == 1 and all(dict(each).keys() <= INTERCHANGEABLE for each in environments):
            step, offset = len(environments), crc32(name.encode())
        for item, (case, environment) in zip(same_test, pairs, strict=True):
            if (cases.index(case) + offset) % step != environments.index(environment) % step:
                item.add_marker(pytest.mark.exhaustive)


def _mark_beside_storage(item: pytest.Item) -> None:
    for mark in NIGHTLY:
        item.add_marker(mark)


def _is_beside_storage(name: str, environments: Sequence[Indices]) -> bool:
    storage = all(dict(each).keys() <= STORAGE for each in environments)
    return storage and not name.startswith(TESTS_OF_STORAGE)


def _sampled_environment(case: str, environments: Sequence[Indices]) -> Indices:
    """Return the first environment for nine cases of ten, and one of the others for the tenth."""
    first, *others = environments
    number = crc32(case.encode())
    return others[number // 10 % len(others)] if others and number % 10 == 0 else first


def _case_and_environment(item: pytest.Item) -> tuple[Indices, Indices]:
    callspec = getattr(item, "callspec", None)
    indices = tuple(callspec.indices.items()) if callspec else ()
    environment = tuple(index for index in indices if index[0] in ENVIRONMENTS)
    return tuple(index for index in indices if index not in environment), environment


def pytest_collection_finish() -> None:
    """Exclude loaded modules from garbage collection, which would pause tests for seconds.

    Nothing is collected before, which would itself take a second and free little.
    """
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def secrets_folder() -> Generator[str]:
    """A folder for the secrets that services of this test run share."""
    with tempfile.TemporaryDirectory(prefix="heddle-secrets-", dir=memory()) as folder:
        yield folder


@pytest.fixture(autouse=True)
def own_secret(secrets_folder: str) -> None:
    """Give the processes of each test the secret of services in this process, in an own file."""
    file = Path(secrets_folder, uuid.uuid4().hex)
    file.touch(0o600)
    file.write_text(OF_THIS_PROCESS.get_secret_value())
    os.environ["HEDDLE_LOCAL_SECRET_FILE"] = str(file)


@pytest.fixture(autouse=True)
def the_developer_calls() -> Generator[None]:
    """Reset the caller after each test: tests that are not async share one context."""
    before = CALLER.set(Caller("", DEVELOPER))
    yield
    CALLER.reset(before)
