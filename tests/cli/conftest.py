"""The command among services that answer over real gRPC."""

from collections.abc import Callable, Iterator

import pytest
from cli.serving import Services, serving
from heddle_cli.__main__ import main
from heddle_runtime.settings.service import ServiceSettings

Run = Callable[..., tuple[int, str, str]]
ADDRESSES = ("TOOLS", "ORCHESTRATOR", "CONNECTOR", "ASSISTANTS", "KNOWLEDGE", "MIGRATION")


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> Iterator[Services]:
    """Services, and an environment that leads the command to them."""
    monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
    with serving(Services(), ServiceSettings(drain_wait=0)) as running:
        for name in ADDRESSES:
            monkeypatch.setenv(f"HEDDLE_{name}_ADDRESS", running.address)
        yield running


@pytest.fixture
def heddle(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command and return its exit code, its output and its notes.

    The last line of the notes of a failure, which says where to read more, is left out.
    """

    def run(*arguments: str) -> tuple[int, str, str]:
        code, out, notes = whole_output(capsys, *arguments)
        message, _, _ = notes.rpartition("See `heddle explain ")
        return code, out, message or notes

    return run


def whole_output(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    """Run the command and return its exit code, its output and all of its notes."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    printed = capsys.readouterr()
    code = left.value.code
    assert isinstance(code, int)
    return code, printed.out, printed.err
