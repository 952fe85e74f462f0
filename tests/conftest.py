"""What all tests share."""

import gc

from hypothesis import settings
from runtime.examples import PROFILE, examples

settings.register_profile(PROFILE, examples())
settings.load_profile(PROFILE)


def pytest_collection_finish() -> None:
    """Keep what stays loaded out of the garbage collections, which would stop tests for seconds."""
    gc.collect()
    gc.freeze()
