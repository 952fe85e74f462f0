"""The test kit for connector authors, used as they use it: in a folder of their own."""

import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from heddle_connector.sdk.testing import check_conformance, connector_in

CONNECTOR = '''
"""A connector of an author."""

from typing import Annotated

import msgspec
from pydantic import Field, SecretStr

from heddle_connector.sdk import (
    BaseUrl, Connector, Done, Example, FromOrganization, Model, ProviderRefusedError, Request,
    Settings, TextDelta, UnavailableError, Usage, connector, error_in_body,
)

from . import _prompts


class ParrotSettings(Settings, env_prefix="HEDDLE_CONNECTOR_PARROT_"):
    cage: Annotated[BaseUrl, FromOrganization("base_url")] = Field(
        default="http://127.0.0.1:9", description="The URL of the parrot."
    )
    whistle: Annotated[SecretStr, FromOrganization("api_key")] = Field(
        default="", description="What calls the parrot."
    )


EXAMPLE = Example("grey", "Hello", b'{"text": "Hello"}', {"cage": "{provider}"})


@connector("parrot", settings=ParrotSettings, example=EXAMPLE)
class Parrot(Connector[ParrotSettings]):
    """Repeats what it hears."""

    async def models(self, seconds):
        raise UnavailableError("Feed the parrot.")

    async def generate(self, call):
        whistle = self.settings.whistle.get_secret_value()
        texts = [message["content"] for message in call.messages]
        body = msgspec.json.encode({"say": _prompts.polite(texts[-1]), "heard": len(texts)})
        request = Request(f"{self.settings.cage}/say", {"x-whistle": whistle}, call.seconds, body)
        data = msgspec.json.decode(await self.http.fetch(request))
        if text := data.get("text"):
            yield [TextDelta(text)]
        if "error" in data:
            raise error_in_body(data["error"])
        yield [Done("stop", Usage(1, 2), call.model)]
'''
HELPER = """
def polite(text):
    return f"{text} Please."
"""
TEST = """
from pathlib import Path

import pytest
from heddle_connector.sdk import HeddleError, ProviderRefusedError
from heddle_connector.sdk.testing import (
    Reply, ScriptedProvider, ask, check_conformance, connector_in
)

Parrot = connector_in(Path(__file__).with_name("parrot.py"))
SETTINGS = {"cage": "{provider}"}


def test_conformance():
    check_conformance(Parrot)


def test_the_answer_and_the_request():
    provider = ScriptedProvider(b'{"text": "Hello"}')
    answer = ask(Parrot, "Say hello.", provider, settings=SETTINGS)
    assert answer.text == "Hello"
    assert answer.done.usage.completion_tokens == 2
    assert provider.requests[0].path == "/say"
    assert provider.requests[0].json == {"say": "Say hello. Please.", "heard": 1}


def test_a_conversation():
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Say hello."},
    ]
    provider = ScriptedProvider(paths={"/say": b'{"text": "Hello"}'})
    ask(Parrot, messages, provider, settings=SETTINGS, temperature=0.5)
    assert provider.requests[0].json == {"say": "Say hello. Please.", "heard": 2}


@pytest.mark.parametrize("whole", [False, True])
def test_a_refusal(whole):
    provider = ScriptedProvider(Reply(b'{"error": "No."}', status=400))
    with pytest.raises(ProviderRefusedError, match="No."):
        ask(Parrot, "Say hello.", provider, settings=SETTINGS, whole=whole)


def test_a_failure_in_the_middle():
    provider = ScriptedProvider(b'{"text": "Hel", "error": "No."}')
    with pytest.raises(HeddleError, match="No."):
        ask(Parrot, "Say hello.", provider, settings=SETTINGS)
"""


def write(folder: Path, connector: str) -> None:
    """Write an author's files into a folder outside of the repository."""
    (folder / "parrot.py").write_text(connector)
    (folder / "_prompts.py").write_text(HELPER)
    (folder / "test_parrot.py").write_text(TEST)


def test_an_author_tests_a_connector_in_a_folder_of_its_own(tmp_path: Path) -> None:
    write(tmp_path, CONNECTOR)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)  # noqa: S603 - our own command
    assert result.returncode == 0, result.stdout + result.stderr
    assert "6 passed" in result.stdout


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
        ('"{provider}"})', '"{provider}"}, b\'{"text": ""}\')', "The answer is 'Hello', not ''"),
        ('{"x-whistle": whistle}', "{}", "The organisation's key is sent"),
        ('raise UnavailableError("Feed the parrot.")', "return []", "raises UnavailableError"),
    ],
)
def test_a_broken_rule_is_named(tmp_path: Path, before: str, after: str, rule: str) -> None:
    assert before in CONNECTOR
    write(tmp_path, CONNECTOR.replace(before, after))
    with pytest.raises(AssertionError, match=rule):
        check_conformance(connector_in(tmp_path / "parrot.py"))


TWO = CONNECTOR + CONNECTOR.replace("class Parrot(", "class Crow(").replace('"parrot"', '"crow"')


@pytest.mark.parametrize("content", ["", TWO], ids=["none", "two"])
def test_a_file_defines_one_connector(tmp_path: Path, content: str) -> None:
    write(tmp_path, content)
    with pytest.raises(ValueError, match="It must define one"):
        connector_in(tmp_path / "parrot.py")


def test_a_shipped_connector_also_works_in_a_folder_of_its_own(tmp_path: Path) -> None:
    """Authors can write what Heddle ships: with helpers, and with the SDK alone."""
    package = "heddle_connector.connectors.anthropic"
    modules = [*Path(str(files(package))).glob("*.py")]
    for module in modules:
        source = module.read_text().replace(f"from {package}.", "from ._")
        name = "claude" if module.stem == "connector" else f"_{module.stem}"
        (tmp_path / f"{name}.py").write_text(source)
    assert len(modules) > 4
    check_conformance(connector_in(tmp_path / "claude.py"))
