"""Fixtures and settings of all tests."""

import gc
import os
from collections.abc import Generator

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
