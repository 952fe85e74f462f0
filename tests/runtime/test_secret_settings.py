"""Secrets of settings in files."""

import json
from pathlib import Path

import pytest
from heddle_runtime.redaction import redact
from heddle_runtime.settings.secret_files import SecretFileError, SecretFileSettings
from heddle_runtime.settings.service import ServiceSettings, describe, read
from pydantic import AliasChoices, Field, SecretStr
from pydantic_settings import SettingsConfigDict

IDENTITY = "HEDDLE_IDENTITY_SECRET"
IDENTITY_FILE = f"{IDENTITY}_FILE"


class Shop(SecretFileSettings):
    """A shop."""

    model_config = SettingsConfigDict(env_prefix="SHOP_", env_ignore_empty=True)

    name: str = Field(default="", description="Its name.")
    token: SecretStr | None = Field(default=None, description="What opens it.")
    keys: dict[str, SecretStr] = Field(default={}, description="What opens its doors.")
    database: str = Field(default="", repr=False, description="Where it stores.")
    till: SecretStr = Field(
        default=SecretStr(""),
        validation_alias=AliasChoices("SHOP_TILL", "TILL_KEY"),
        description="What opens its till.",
    )


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return tmp_path / "secret"


@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
def test_a_secret_is_the_text_of_its_file_without_the_last_line_break(
    secret: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    secret.write_bytes(f"  open\nsesame {ending}".encode())
    monkeypatch.setenv("SHOP_TOKEN_FILE", str(secret))

    token = Shop().token
    assert token is not None
    assert token.get_secret_value() == "  open\nsesame "


def test_every_kind_of_secret_can_be_in_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {"KEYS": '{"front": "f"}', "DATABASE": "postgresql://u:p@h/d"}.items():
        (tmp_path / name).write_text(text)
        monkeypatch.setenv(f"SHOP_{name}_FILE", str(tmp_path / name))
    (tmp_path / "till").write_text("t\n")
    monkeypatch.setenv("TILL_KEY_FILE", str(tmp_path / "till"))

    shop = Shop()
    assert shop.keys["front"].get_secret_value() == "f"
    assert shop.database == "postgresql://u:p@h/d"
    assert shop.till.get_secret_value() == "t"


def test_what_is_no_secret_is_read_of_no_file(
    secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret.write_text("Ann's")
    monkeypatch.setenv("SHOP_NAME_FILE", str(secret))

    assert Shop().name == ""


def test_a_file_that_cannot_be_read_is_named(
    secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(IDENTITY_FILE, str(secret))

    with pytest.raises(SystemExit) as stopped:
        read(ServiceSettings, [])
    message = f"{IDENTITY_FILE}: {secret} cannot be read: No such file or directory"
    assert stopped.value.code == 2
    assert json.loads(capsys.readouterr().err)["problem"] == message


def test_a_secret_that_is_set_twice_is_refused(
    secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret.write_text("s" * 32)
    monkeypatch.setenv(IDENTITY_FILE, str(secret))
    monkeypatch.setenv(IDENTITY, "t" * 32)

    with pytest.raises(SystemExit):
        read(ServiceSettings, [])
    assert json.loads(capsys.readouterr().err)["problem"] == (
        f"{IDENTITY} and {IDENTITY_FILE} are both set. Set one of them."
    )


def test_an_empty_variable_counts_as_unset(secret: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret.write_text("s" * 32)
    monkeypatch.setenv(IDENTITY_FILE, str(secret))
    monkeypatch.setenv(IDENTITY, "")
    monkeypatch.setenv("SHOP_TOKEN_FILE", "")

    identity = read(ServiceSettings, []).identity_secret
    assert identity is not None
    assert identity.get_secret_value() == "s" * 32
    assert Shop().token is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [(b"\n", "is empty"), (b"\xff", "is not UTF-8"), (b"sk-oops", "should hold JSON")],
)
def test_a_file_without_a_usable_secret_is_named_and_its_text_is_not(
    secret: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, problem: str
) -> None:
    secret.write_bytes(content)
    monkeypatch.setenv("SHOP_KEYS_FILE", str(secret))

    with pytest.raises(SecretFileError) as refused:
        Shop()
    assert str(refused.value) == f"SHOP_KEYS_FILE: {secret} {problem}"


def test_a_secret_of_a_file_is_checked_and_redacted_as_any_other(
    secret: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret.write_text("canary-0123456789-abcdefghijklmno")
    monkeypatch.setenv(IDENTITY_FILE, str(secret))
    settings = read(ServiceSettings, [])

    assert "canary" not in redact("it is canary-0123456789-abcdefghijklmno!")
    del settings
    secret.write_text("canary")
    with pytest.raises(SystemExit):
        read(ServiceSettings, [])
    printed = capsys.readouterr().err
    assert IDENTITY in printed
    assert "canary" not in printed


def test_help_names_the_file_of_each_secret() -> None:
    named = [line.split()[0] for line in describe(Shop).splitlines() if line.startswith("  SHOP_")]

    assert named == [
        *("SHOP_NAME", "SHOP_TOKEN", "SHOP_TOKEN_FILE", "SHOP_KEYS", "SHOP_KEYS_FILE"),
        *("SHOP_DATABASE", "SHOP_DATABASE_FILE", "SHOP_TILL", "SHOP_TILL_FILE"),
    ]
