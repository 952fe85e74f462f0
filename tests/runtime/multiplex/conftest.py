"""What all tests of pipes must leave behind."""

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_is_lost(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Check that no task failed unseen."""
    yield
    lost = [r.getMessage() for r in caplog.records if r.levelno >= logging.ERROR]
    # grpc.aio says the one when two loops wake at once, the other when a loop ends before its last
    # handler, and means nothing by it.
    harmless = ("PollerCompletionQueue", "_handle_exceptions")
    assert not [message for message in lost if not any(text in message for text in harmless)]
