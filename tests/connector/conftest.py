"""Fixtures of the connector's tests."""

import os
from pathlib import Path

import pytest
from s3_server import object_server

from connector.tls import Authority

__all__ = ["authority", "clean_environment", "object_server"]


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Return a certificate authority."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the settings of whoever runs the tests out of them, and their pictures in a folder."""
    for name in os.environ:
        if name.startswith("HEDDLE_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HEDDLE_CONNECTOR_IMAGES_DIR", str(tmp_path / "images"))
