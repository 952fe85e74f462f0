"""Fixtures of the connector's tests."""

import os

import pytest


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of whoever runs the tests out of them."""
    for name in os.environ:
        if name.startswith("HEDDLE_"):
            monkeypatch.delenv(name)
