"""What all tests share."""

import gc
from collections.abc import Generator

import pytest
from heddle_runtime.calls import CALLER, Caller
from hypothesis import settings
from runtime.examples import PROFILE, examples

settings.register_profile(PROFILE, examples())
settings.load_profile(PROFILE)


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
