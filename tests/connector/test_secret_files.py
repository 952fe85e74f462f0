"""Keys of providers in files."""

from pathlib import Path

import pytest
from heddle_connector.connectors.openai import OpenAiSettings
from heddle_connector.http import http_client
from heddle_connector.routing.registry import installed, opened

KEY_FILE = "HEDDLE_CONNECTOR_OPENAI_API_KEY_FILE"


def test_a_connector_reads_its_key_from_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "key").write_text("sk-of-the-file\n")
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "key"))

    key = OpenAiSettings().api_key
    assert key is not None
    assert key.get_secret_value() == "sk-of-the-file"


async def test_a_connector_whose_file_is_missing_is_left_out_and_the_file_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_FILE, str(tmp_path / "missing"))
    plugins = installed()

    async with http_client(2) as http, opened(plugins, http):
        (problem,) = [each for each in plugins.problems if each.origin == "openai"]
        assert problem.message.startswith(f"{KEY_FILE}: {tmp_path}/missing cannot be read")
