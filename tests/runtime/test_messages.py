"""Messages of failures that users read name no settings; those belong into the diagnosis."""

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SETTING = re.compile(
    r"HEDDLE_[A-Z]|providers\.[a-z]|mcp_servers\.|https?://|localhost|127\.0\.0\.1"
)
PACKAGES = (
    "heddle_connector",
    "heddle_knowledge.service",
    "heddle_orchestrator",
    "heddle_tools_service.adapters",
    "heddle_tools_service.providers",
    "heddle_tools_service.tools",
)
# Raised while a service starts: operators read these.
STARTING = {"ConfigurationError", "ValueError", "TypeError", "PydanticCustomError"}


def sources(package: str) -> Iterator[Path]:
    [folder] = importlib.import_module(package).__path__
    return Path(folder).rglob("*.py")


def messages(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the texts of the positional arguments of exceptions, with their lines."""
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.Call):
            continue
        name = getattr(node.func, "id", getattr(node.func, "attr", ""))
        if not name.endswith("Error") or name in STARTING:
            continue
        for argument in node.args:
            for part in ast.walk(argument):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield node.lineno, part.value


@pytest.mark.parametrize("package", PACKAGES)
def test_no_message_for_users_names_a_setting_or_an_address(package: str) -> None:
    wrong = [
        f"{path}:{line}: {text}"
        for path in sources(package)
        for line, text in messages(path)
        if SETTING.search(text)
    ]
    assert not wrong, "Move these into `diagnosis`:\n" + "\n".join(wrong)
