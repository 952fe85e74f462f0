"""The sentences that the studio translates are those that the services say."""

import ast
import json
import re
from pathlib import Path

import pytest
from studio.harness import ROOT

pytestmark = pytest.mark.exhaustive
SENTENCES = json.loads((ROOT / "studio/src/lib/sentences/sentences.json").read_text())
_PLACEHOLDER = re.compile(r"'?\{\w+\}'?")


@pytest.fixture(scope="module")
def literals() -> str:
    """All texts of the services; what is filled in is a line break."""
    folders = [ROOT / "gateway/src", ROOT / "tools-service/src", *ROOT.glob("services/*/src")]
    return "\n".join(
        text for folder in folders for path in folder.rglob("*.py") for text in texts_of(path)
    )


def texts_of(path: Path) -> list[str]:
    """Return the texts of a file."""
    return [
        node.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]


@pytest.mark.parametrize("sentence", [each["en"] for each in SENTENCES])
def test_a_service_says_the_sentence(literals: str, sentence: str) -> None:
    parts = [part for part in _PLACEHOLDER.split(sentence) if part.strip(" .:")]
    assert [part for part in parts if part not in literals] == []
