"""What `make up` prints says for each installation where Heddle is and what it lacks."""

from pathlib import Path
from typing import Any

import pytest
from heddle_devstack.announcement import announcement
from heddle_gateway.app import GatewaySettings

KEY = "a-key-of-the-operator"
SERVICES = {"orchestrator": "127.0.0.1:9101", "tools": "127.0.0.1:9102"}


def text(
    default_model: str | None = "",
    *,
    setup_link: str = "",
    prepares_examples: bool = False,
    log_file: Path | None = None,
    **gateway: Any,
) -> str:
    """Return the announcement in one line, as its line breaks depend on lengths."""
    settings = GatewaySettings(**({"development": True} | gateway))
    printed = announcement(
        "1.2.3",
        settings,
        "127.0.0.1:8080",
        SERVICES,
        default_model,
        setup_link=setup_link,
        prepares_examples=prepares_examples,
        log_file=log_file,
    )
    assert max(map(len, printed.splitlines())) <= 90
    return " ".join(printed.split())


def test_it_says_what_runs_and_where() -> None:
    printed = text()
    assert printed.startswith("Heddle 1.2.3 is running. Ctrl+C stops it. ")
    assert "Studio http://127.0.0.1:8080/studio/ " in printed
    assert "API http://127.0.0.1:8080/v1 " in printed
    assert "gRPC orchestrator 127.0.0.1:9101, tools 127.0.0.1:9102 " in printed
    assert "being prepared" not in printed
    assert printed.endswith("Log JSON lines on standard error")


@pytest.mark.parametrize(
    ("gateway", "sign_in"),
    [
        ({}, "Not needed: only this machine can reach Heddle"),
        (
            {"development": False, "api_key": KEY},
            "People sign in with an e-mail address and a password. Programs need an API key",
        ),
        (
            {"development": False, "api_key": KEY, "oidc_providers": Path("providers.yaml")},
            "with an e-mail address and a password or an identity provider.",
        ),
        (
            {"development": False, "api_key": KEY, "password_login": False},
            "Nobody can sign in. Programs need an API key",
        ),
    ],
)
def test_it_says_who_may_sign_in(gateway: dict[str, Any], sign_in: str) -> None:
    assert sign_in in text(**gateway)


def test_it_shows_the_link_for_the_operators_account_as_long_as_it_is_good() -> None:
    link = f"http://127.0.0.1:8080/studio/setup#{'0' * 40}"
    assert "Account" not in text(development=False, api_key=KEY)
    assert text(development=False, api_key=KEY, setup_link=link).count(link) == 1


@pytest.mark.parametrize(
    ("default_model", "models"),
    [
        (None, "The connector service has not answered yet."),
        ("", "No model is connected: assistants quote what they find in documents."),
        ("openai/gpt-x", "openai/gpt-x answers, unless an assistant names another model."),
    ],
)
def test_it_says_which_model_answers(default_model: str | None, models: str) -> None:
    assert f"Models {models}" in text(default_model)


def test_it_says_what_is_not_there_yet_and_where_the_log_is() -> None:
    printed = text(prepares_examples=True, log_file=Path("/srv/heddle.log"), studio=False)
    assert "Documents The documents of the examples are being prepared" in printed
    assert "Studio off (HEDDLE_GATEWAY_STUDIO)" in printed
    assert printed.endswith("Log /srv/heddle.log")
