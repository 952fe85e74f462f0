"""`heddle_runtime.settings`."""

import pytest
from heddle_runtime.settings import ServiceSettings, is_local, read
from pydantic import ValidationError


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
        ServiceSettings(address="0.0.0.0:1")


def test_help_names_every_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        read(ServiceSettings, ["--help"])

    text = capsys.readouterr().out
    assert all(str(field.description) in text for field in ServiceSettings.model_fields.values())
    assert "HEDDLE_IDENTITY_SECRET" in text
    assert "HEDDLE_ADDRESS" in text


def test_a_wrong_value_is_told_by_the_variables_name_without_the_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HEDDLE_SHUTDOWN_GRACE", "sk-oops")

    with pytest.raises(SystemExit):
        read(ServiceSettings, [])

    told = capsys.readouterr().err
    assert "HEDDLE_SHUTDOWN_GRACE" in told
    assert "sk-oops" not in told
