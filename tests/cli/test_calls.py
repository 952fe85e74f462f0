"""What every call carries, and how a failed one is told."""

import subprocess
import sys

import pytest
from cli.conftest import Run
from cli.serving import Services, serving
from heddle_runtime.identity.callers import Identity, TokenVerifier
from heddle_runtime.settings.service import ServiceSettings
from optional_member import of_member

SECRET = "a-secret-of-at-least-32-characters"
GUARDED = ServiceSettings(drain_wait=0, HEDDLE_IDENTITY_SECRET=SECRET)  # type: ignore[call-arg] # the alias is the variable's name


def test_a_secret_in_the_environment_signs_the_calls(
    monkeypatch: pytest.MonkeyPatch, heddle: Run
) -> None:
    with serving(Services(), GUARDED) as services:
        monkeypatch.setenv("HEDDLE_TOOLS_ADDRESS", services.address)
        monkeypatch.delenv("HEDDLE_IDENTITY_SECRET", raising=False)
        refused = heddle("tools", "list")
        monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
        allowed = heddle("tools", "list")

    assert refused == (
        1,
        "",
        (
            "heddle: The call carries no valid token. "
            "Set HEDDLE_IDENTITY_SECRET to the secret of the services, or run the command in the "
            "folder that they were started in.\n"
        ),
    )
    assert allowed[0] == 0


def test_a_service_that_is_not_there_is_named_by_its_address(
    heddle: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_ADDRESS", "127.0.0.1:1")
    code, out, notes = heddle("models")

    assert (code, out) == (1, "")
    assert notes == "heddle: Nothing answers at 127.0.0.1:1. Is the service running there?\n"


def test_an_empty_address_is_told(heddle: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEDDLE_CONNECTOR_ADDRESS", " ")
    message = "heddle: The address of the service is empty. Write it as HOST:PORT.\n"
    assert heddle("models") == (1, "", message)


@pytest.mark.usefixtures("services")
def test_a_refusal_is_one_sentence_with_everything_that_is_wrong(heddle: Run) -> None:
    assert heddle("chat", "nobody", "Why?") == (
        1,
        "",
        "heddle: No such assistant. assistant_reference: names nobody. Try again in 2 s.\n",
    )


def test_a_token_stands_for_whom_it_was_made(monkeypatch: pytest.MonkeyPatch, heddle: Run) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)

    code, out, _ = heddle(
        "token",
        "tool",
        "--subject",
        "ann",
        "--organization",
        "school",
        "--scope",
        "a",
        "--scope",
        "b",
    )

    assert code == 0
    identity = TokenVerifier(SECRET).identity(out.strip(), "heddle.tool.v1.ToolService")
    assert identity == Identity("ann", "school", ("a", "b"))


@pytest.mark.parametrize(
    ("secret", "command"),
    [("", "token tool"), ("too short", "token tool"), ("too short", "models")],
)
def test_a_secret_that_cannot_be_the_services_is_told(
    monkeypatch: pytest.MonkeyPatch, heddle: Run, secret: str, command: str
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", secret)
    monkeypatch.setenv("HEDDLE_LOCAL_SECRET_FILE", "absent")

    code, out, notes = heddle(*command.split())

    assert (code, out) == (1, "")
    assert notes.startswith("heddle: HEDDLE_IDENTITY_SECRET must hold the secret")


@pytest.mark.parametrize(
    "arguments",
    [
        ("chat", "tutor", "caf\udce9"),
        ("token", "tool", "--subject", "\udce9"),
        pytest.param(("migrate", "\udce9"), marks=of_member),
    ],
)
def test_an_argument_that_is_not_utf_8_is_told_without_it(
    monkeypatch: pytest.MonkeyPatch, heddle: Run, arguments: tuple[str, ...]
) -> None:
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)

    message = "heddle: An argument or a setting is not UTF-8. Write it so.\n"
    assert heddle(*arguments) == (1, "", message)


def test_the_module_runs_like_the_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "heddle_cli", "--help"],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )

    assert "Usage: heddle" in ran.stdout
