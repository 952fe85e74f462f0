"""The secret of the services in a file that the command reads."""

from pathlib import Path

import pytest
from cli.conftest import Run
from heddle_cli.secret import services_secret
from heddle_runtime.errors import InvalidRequestError

SECRET = "HEDDLE_IDENTITY_SECRET"


def test_the_command_reads_the_file_that_services_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").write_text("s" * 32 + "\n")
    monkeypatch.setenv(f"{SECRET}_FILE", str(tmp_path / "secret"))

    assert services_secret() == "s" * 32


def test_the_command_names_a_file_that_it_cannot_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"{SECRET}_FILE", str(tmp_path / "missing"))

    with pytest.raises(InvalidRequestError, match=f"{SECRET}_FILE: {tmp_path}/missing cannot be"):
        services_secret()


@pytest.mark.parametrize("name", ["knowledge", "heddle.multiplex.v1.MultiplexService"])
def test_a_token_is_for_a_service_of_the_contracts(
    heddle: Run, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(SECRET, "s" * 32)

    code, token, _ = heddle("token", name)
    refused, nothing, problem = heddle("token", f"{name}s")

    assert (code, token.count(".")) == (0, 2)
    assert (refused, nothing) == (1, "")
    assert f"No gRPC service is named '{name}s'." in problem
    assert "heddle.knowledge.v1.KnowledgeService" in problem
