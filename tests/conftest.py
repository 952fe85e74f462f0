"""What all tests share."""

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


def pytest_configure() -> None:
    """Put the folders of tests where no disk must be waited for."""
    if room := memory():
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(room))


def pytest_collection_finish() -> None:
    """Keep what stays loaded out of the garbage collections, which would stop tests for seconds."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def nobody_calls() -> Generator[None]:
    """Let no test act for the caller of an earlier one: plain tests share one context."""
    before = CALLER.set(Caller(""))
    yield
    CALLER.reset(before)
