"""The test kit for connector authors, used as they use it: in a folder of their own."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from heddle_connector.sdk.testing import check_conformance

CONNECTOR = '''
"""A connector of an author."""

import msgspec
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

import prompts
from heddle_connector.sdk import (
    BaseUrl, Connector, Done, Example, Model, Request, TextDelta, UnavailableError, Usage,
    connector,
)


class ParrotSettings(BaseSettings):
    model_config = SettingsConfigDict(env_prefix="HEDDLE_CONNECTOR_PARROT_")
    base_url: BaseUrl = Field(default="http://127.0.0.1:9", description="The URL of the parrot.")


EXAMPLE = Example("grey", "Hello", b'{"text": "Hello"}', {"base_url": "{provider}"})


@connector("parrot", settings=ParrotSettings, example=EXAMPLE)
class Parrot(Connector[ParrotSettings]):
    """Repeats what it hears."""

    async def models(self, seconds):
        raise UnavailableError("Feed the parrot.")

    async def generate(self, call):
        body = msgspec.json.encode({"say": prompts.polite(call.messages[-1]["content"])})
        request = Request(f"{self.settings.base_url}/say", {}, call.seconds, body)
        data = msgspec.json.decode(await self.http.fetch(request))
        yield [TextDelta(data["text"]), Done("stop", Usage(1, 2), call.model)]
'''
HELPER = """
def polite(text):
    return f"{text} Please."
"""
TEST = """
import pytest
from heddle_connector.sdk import ProviderRefusedError
from heddle_connector.sdk.testing import Reply, ScriptedProvider, ask, check_conformance
from parrot import Parrot


def test_conformance():
    check_conformance(Parrot)


def test_the_answer_and_the_request():
    provider = ScriptedProvider(b'{"text": "Hello"}')
    answer = ask(Parrot, "Say hello.", provider, settings={"base_url": "{provider}"})
    assert answer.text == "Hello"
    assert answer.done.usage.completion_tokens == 2
    assert provider.requests[0].path == "/say"
    assert provider.requests[0].json == {"say": "Say hello. Please."}


def test_a_refusal():
    provider = ScriptedProvider(Reply(b'{"error": "No."}', status=400))
    with pytest.raises(ProviderRefusedError, match="No."):
        ask(Parrot, "Say hello.", provider, settings={"base_url": "{provider}"})
"""


def write(folder: Path, connector: str) -> None:
    """Write an author's files into a folder outside of the repository."""
    (folder / "parrot.py").write_text(connector)
    (folder / "prompts.py").write_text(HELPER)
    (folder / "test_parrot.py").write_text(TEST)


def test_an_author_tests_a_connector_in_a_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, CONNECTOR)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert result.returncode == 0, result.stdout + result.stderr
    assert "3 passed" in result.stdout


@pytest.mark.parametrize(
    ("before", "after", "rule"),
    [
        ('"""Repeats what it hears."""', '"""Repeats what it hears"""', "is a sentence"),
        (
            "import msgspec\n",
            "import msgspec\nimport heddle_runtime\n",
            "only heddle_connector.sdk",
        ),
        (', description="The URL of the parrot."', "", "has a description"),
        ('"HEDDLE_CONNECTOR_PARROT_"', '"PARROT_"', "The prefix of the settings"),
        ("Done(", "Done('stop'), Done(", "one Done event"),
        ("Usage(1, 2)", "None", "the token usage"),
        ('"Hello", b', '"Goodbye", b', "The answer is 'Goodbye'"),
        ('raise UnavailableError("Feed the parrot.")', "return []", "raises UnavailableError"),
    ],
)
def test_a_broken_rule_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, rule: str
) -> None:
    assert before in CONNECTOR
    write(tmp_path, CONNECTOR.replace(before, after))
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "parrot", raising=False)
    with pytest.raises(AssertionError, match=rule):
        check_conformance(import_module("parrot").Parrot)
