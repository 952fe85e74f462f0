"""What the author of a tool does: a tool and its test in an empty folder, and pytest."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = '''"""Finds words of a lexicon, and asks a server for their meaning."""

import httpx
from heddle_tools_service.capabilities.passages import Passages
from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolResult, tool
from pydantic import Field

from ._words import known


class LexiconConfig(ToolConfig):
    """Where to look."""

    collection: str = Field(description="The collection.", examples=["lexicon"])


@tool("lexicon", title="Lexicon", modes=("augment", "function"))
async def lexicon(call: ToolCall[LexiconConfig], passages: Passages) -> ToolResult:
    """Finds what a lexicon says."""
    call.status("searching the lexicon")
    results = await passages.search([call.config.collection], call.query, top_k=3)
    texts = [passage.text for passage in results.passages]
    return ToolResult("\\n".join(known(texts)), metadata={"asker": call.caller.subject})
'''
HELPER = """def known(texts):
    return [text for text in texts if text]
"""
TEST = """import pytest
from heddle_tools_service.capabilities.passages import Passage, Passages
from heddle_tools_service.sdk import Caller
from heddle_tools_service.testing import ScriptedPassages, conformance, load, run_tool_sync

LEXICON = load("lexicon.py")


@pytest.mark.parametrize("check", conformance(LEXICON), ids=str)
def test_conformance(check):
    check()


def test_it_returns_what_the_lexicon_says():
    passages = ScriptedPassages([Passage("A shed is a gap.", "Sheds")])

    outcome = run_tool_sync(
        LEXICON,
        {"collection": "looms"},
        messages=[
            {"role": "user", "content": "Hello"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "What is a shed?"},
        ],
        caller=Caller("ana"),
        capabilities={Passages: passages},
    )

    assert outcome.result.text == "A shed is a gap."
    assert outcome.result.metadata == {"asker": "ana"}
    assert outcome.statuses == ["searching the lexicon"]
    assert passages.requests[0].query == "What is a shed?"
"""


def pytest_in(folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run pytest as an author does: none of this repository's settings and paths count."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


@pytest.mark.exhaustive
def test_a_tool_is_tested_in_a_folder_outside_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / "lexicon.py").write_text(TOOL)
    (tmp_path / "_words.py").write_text(HELPER)
    (tmp_path / "test_lexicon.py").write_text(TEST)
    assert len(TOOL.splitlines()) < 40

    run = pytest_in(tmp_path)

    assert run.returncode == 0, run.stdout
    assert "8 passed" in run.stdout


@pytest.mark.exhaustive
def test_a_request_for_an_unknown_type_names_tool_parameter_and_remedy(tmp_path: Path) -> None:
    broken = TOOL.replace("passages: Passages)", "passages: Passages, loom: ToolConfig)")
    (tmp_path / "lexicon.py").write_text(broken)
    (tmp_path / "_words.py").write_text(HELPER)
    (tmp_path / "test_lexicon.py").write_text(TEST)

    run = pytest_in(tmp_path)

    assert run.returncode == 2
    assert "The tool 'lexicon' is not valid: its parameter 'loom' requests 'ToolConfig', " in (
        run.stdout
    )
    assert "annotate it with a registered class (AsyncClient, DocumentQueries, " in run.stdout
