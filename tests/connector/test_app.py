"""The service as a process."""

import os
import subprocess
import sys

import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.app import ConnectorSettings
from heddle_connector.routing.registry import installed
from heddle_runtime.identity.call_metadata import new_call_options

from connector.service import service


def test_help_tells_every_setting_of_the_service_and_of_its_connectors() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "heddle_connector", "--help"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    ).stdout
    assert "HEDDLE_CONNECTOR_LISTEN [127.0.0.1:9103]" in told
    for plugin in installed().loaded.values():
        prefix = plugin.settings.model_config.get("env_prefix", "")
        for name in plugin.settings.model_fields:
            assert f"{prefix}{name}".upper() in told


async def test_an_empty_variable_counts_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["PLUGINS_DIR", "OPENAI_BASE_URL", "OPENAI_API_KEY", "LOCAL_MODEL_PATH"]
    for name in names:
        monkeypatch.setenv(f"HEDDLE_CONNECTOR_{name}", "")
    assert ConnectorSettings().plugins_dir is None
    async with service() as stub:
        listed = await stub.ListConnectors(pb.ListConnectorsRequest(), **new_call_options(5))
    assert not listed.problems
    assert "HEDDLE_CONNECTOR_LOCAL_MODEL_PATH" in os.environ
