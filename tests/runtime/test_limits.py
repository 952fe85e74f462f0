"""The limits of `heddle_runtime.contract.limits` where other places use or repeat them."""

import re
from pathlib import Path

import pytest
from heddle_orchestrator.app import OrchestratorSettings
from heddle_runtime.contract import limits
from heddle_runtime.settings.service import read
from heddle_tools_service.settings import ToolsSettings

STUDIO = Path(__file__).parents[2] / "studio/src/lib/api/limits.ts"


@pytest.mark.parametrize("kind", [OrchestratorSettings, ToolsSettings])
def test_one_variable_sets_the_time_limit_of_tools_in_both_services(
    kind: type[OrchestratorSettings | ToolsSettings], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read(kind, []).tool_timeout_seconds == 20.0
    monkeypatch.setenv("HEDDLE_TOOL_TIMEOUT_SECONDS", "7")
    assert read(kind, []).tool_timeout_seconds == 7.0


@pytest.mark.parametrize("seconds", ["0", "86401"])
def test_a_time_limit_that_no_binding_may_have_is_refused(
    seconds: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDDLE_TOOL_TIMEOUT_SECONDS", seconds)
    with pytest.raises(SystemExit):
        read(ToolsSettings, [])
    assert "HEDDLE_TOOL_TIMEOUT_SECONDS" in capsys.readouterr().err


def test_the_studio_has_the_limits_of_the_services() -> None:
    listed = re.findall(r"^export const (\w+) = ([\d_.]+);$", STUDIO.read_text(), re.MULTILINE)
    assert listed
    assert {name: float(value) for name, value in listed} == {
        name: getattr(limits, name) for name, _ in listed
    }
