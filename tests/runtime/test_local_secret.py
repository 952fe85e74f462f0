"""The secret that services of one machine share."""

import stat
from pathlib import Path

import pytest
from heddle_runtime.admission import AdmissionControl
from heddle_runtime.call_metadata import caller
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity import ANONYMOUS, Identity, TokenSigner, TokenVerifier
from heddle_runtime.local_secret import LocalSecret
from heddle_runtime.settings import ServiceSettings, read
from pydantic import ValidationError

ANN = Identity("ann@uni.example", "uni")


def admission(secret: LocalSecret) -> AdmissionControl:
    verifier = TokenVerifier(secret.get_secret_value())
    return AdmissionControl(verifier, 1, secret.requires_tokens)


def test_services_of_one_folder_share_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret"
    first, second = LocalSecret.in_file(file), LocalSecret.in_file(file)
    token = TokenSigner(first.get_secret_value()).token(ANN, "a.Service")
    admission(second).authenticate("a.Service", "", f"Bearer {token}", "")
    assert caller().identity == ANN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.get_secret_value() not in repr(first)


def test_a_call_without_a_token_is_the_operators_until_keys_are_used(tmp_path: Path) -> None:
    service = LocalSecret.in_file(tmp_path / "secret")
    control = admission(service)
    control.authenticate("a.Service", "", "", "")
    assert caller().identity == ANONYMOUS
    with pytest.raises(UnauthenticatedError):
        control.authenticate("a.Service", "", "Bearer forged", "")
    LocalSecret.in_file(tmp_path / "secret").require_tokens()  # the gateway, in its own process
    with pytest.raises(UnauthenticatedError):
        control.authenticate("a.Service", "", "", "")
    with pytest.raises(UnauthenticatedError):  # after a restart as well
        admission(LocalSecret.in_file(tmp_path / "secret")).authenticate("a.Service", "", "", "")


def test_settings_of_a_process_have_the_secret_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_LOCAL_SECRET_FILE", str(tmp_path / "secret"))
    assert isinstance(read(ServiceSettings, []).identity_secret, LocalSecret)
    monkeypatch.setenv("HEDDLE_ALLOW_ANONYMOUS", "true")
    assert read(ServiceSettings, []).identity_secret is None
    monkeypatch.delenv("HEDDLE_ALLOW_ANONYMOUS")
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "s" * 32)
    assert not isinstance(read(ServiceSettings, []).identity_secret, LocalSecret)


@pytest.mark.parametrize("address", ["unix:/run/heddle", "localhost:1", "127.0.0.1:1", "[::1]:1"])
def test_services_of_this_machine_need_no_setting(address: str) -> None:
    assert WithPeer(peer_address=address).identity_secret is None


@pytest.mark.parametrize("address", ["tools:9102", "10.0.0.7:9102", "[2001:db8::1]:9102"])
def test_a_service_elsewhere_needs_the_secret(address: str) -> None:
    with pytest.raises(ValidationError, match="is on another machine: set HEDDLE_IDENTITY_SECRET"):
        WithPeer(peer_address=address)


class WithPeer(ServiceSettings):
    """Settings of a service that calls another one."""

    peer_address: str
