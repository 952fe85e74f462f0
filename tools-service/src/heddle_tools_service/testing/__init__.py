"""A test kit for authors of tools. It needs neither a running Heddle nor this repository.

`run_tool` runs one tool as the service does, with a conversation, a caller and capabilities of the
test's choice. `conformance` runs the checks that every tool must pass:

    import pytest
    from heddle_tools_service.testing import conformance, load, run_tool_sync

    TOOL = load("proverbs.py")

    @pytest.mark.parametrize("check", conformance(TOOL), ids=str)
    def test_conformance(check):
        check()

    def test_finds_a_proverb():
        assert "stitch" in run_tool_sync(TOOL, query="time").result.text
"""

from heddle_tools_service.testing.conformance import Check, conformance
from heddle_tools_service.testing.documents import (
    ScriptedModel,
    ScriptedPages,
    ScriptedPassages,
    SearchRequest,
)
from heddle_tools_service.testing.example_capabilities import (
    REQUESTABLE,
    example_capabilities,
    silent_capabilities,
)
from heddle_tools_service.testing.running import Outcome, failure_of, load, run_tool, run_tool_sync

__all__ = [
    "REQUESTABLE",
    "Check",
    "Outcome",
    "ScriptedModel",
    "ScriptedPages",
    "ScriptedPassages",
    "SearchRequest",
    "conformance",
    "example_capabilities",
    "failure_of",
    "load",
    "run_tool",
    "run_tool_sync",
    "silent_capabilities",
]
