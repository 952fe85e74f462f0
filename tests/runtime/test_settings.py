"""`heddle_runtime.settings.service`."""

import json

import pytest
from heddle_runtime.settings.addresses import is_local
from heddle_runtime.settings.service import ServiceSettings, describe, read
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("127.0.0.1:1", True),
        ("localhost:1", True),
        ("[::1]:1", True),
        ("unix:/run/heddle.sock", True),
        ("0.0.0.0:1", False),
        ("[::]:1", False),
        ("10.0.0.1:1", False),
        ("heddle.example.org:1", False),
    ],
)
def test_only_loopback_and_sockets_are_local(address: str, local: bool) -> None:
    assert is_local(address) is local


def test_an_open_port_without_a_secret_is_refused() -> None:
    with pytest.raises(ValidationError, match="HEDDLE_IDENTITY_SECRET"):
        ServiceSettings(listen="0.0.0.0:1")


def test_help_names_every_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(ServiceSettings, ["--help"])

    text = capsys.readouterr().out
    assert all(str(field.description) in text for field in ServiceSettings.model_fields.values())
    assert "HEDDLE_IDENTITY_SECRET" in text
    assert "HEDDLE_LISTEN" in text


def test_a_level_that_nothing_is_logged_at_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDDLE_LOG_LEVEL", "warning")
    assert read(ServiceSettings, []).log_level == "warning"
    monkeypatch.setenv("HEDDLE_LOG_LEVEL", "loud")

    with pytest.raises(SystemExit):
        read(ServiceSettings, [])

    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"]) == ("cannot start", "critical")
    assert line["setting"] == "HEDDLE_LOG_LEVEL"
    assert line["problem"] == "must be DEBUG, INFO, WARNING, ERROR or CRITICAL"


class Shop(BaseSettings):
    """A shop."""

    model_config = SettingsConfigDict(env_prefix="SHOP_")

    name: str = Field(default="", description="Its name.")
    town: str = Field(default="Vic", description="Its town.")
    doors: tuple[str, ...] = Field(default=(), description="Its doors.")
    keys: dict[str, SecretStr] = Field(default={}, description="What opens them.")


def test_help_tells_defaults_and_none_where_there_is_nothing() -> None:
    assert describe(Shop).splitlines()[3::2] == [
        *("  SHOP_NAME", "  SHOP_TOWN [Vic]", "  SHOP_DOORS", "  SHOP_KEYS")
    ]


def test_what_is_no_json_is_told_by_the_variables_name_without_the_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SHOP_KEYS", "sk-oops")

    with pytest.raises(SystemExit) as left:
        read(Shop, [])

    assert left.value.code == 2
    line = json.loads(capsys.readouterr().err)
    assert (line["setting"], line["problem"]) == ("SHOP_KEYS", "Input should be JSON")


def test_a_wrong_value_is_told_by_the_variables_name_without_the_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDDLE_SHUTDOWN_GRACE", "sk-oops")

    with pytest.raises(SystemExit):
        read(ServiceSettings, [])

    told = capsys.readouterr().err
    assert "HEDDLE_SHUTDOWN_GRACE" in told
    assert "sk-oops" not in told
