"""The secret that services of one machine share."""

import stat
from pathlib import Path

import pytest
from heddle_runtime.errors import UnauthenticatedError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import DEVELOPER, Identity, TokenSigner, TokenVerifier
from heddle_runtime.rpc.admission import AdmissionControl
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS, LocalSecret, admits_developer
from heddle_runtime.settings.service import ServiceSettings, read
from pydantic import SecretStr, ValidationError

ANN = Identity("ann@uni.example", "uni")


def admission(secret: SecretStr, address: str = "127.0.0.1:9101") -> AdmissionControl:
    verifier = TokenVerifier(secret.get_secret_value())
    return AdmissionControl(verifier, 1, admits_developer(secret, address))


def test_services_of_one_folder_share_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "data" / "secret"
    first, second = LocalSecret.in_file(file), LocalSecret.in_file(file)
    token = TokenSigner(first.get_secret_value()).token(ANN, "a.Service")
    admission(second).authenticate("a.Service", "", f"Bearer {token}", "")
    assert caller().identity == ANN
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert first.get_secret_value() not in repr(first)


def test_a_call_without_a_token_is_the_developers_until_keys_are_used(tmp_path: Path) -> None:
    service = LocalSecret.in_file(tmp_path / "secret")
    control = admission(service)
    control.authenticate("a.Service", "", "", "")
    assert caller().identity == DEVELOPER
    with pytest.raises(UnauthenticatedError):
        control.authenticate("a.Service", "", "Bearer forged", "")
    LocalSecret.in_file(tmp_path / "secret").require_tokens()  # the gateway, in its own process
    with pytest.raises(UnauthenticatedError):
        control.authenticate("a.Service", "", "", "")
    with pytest.raises(UnauthenticatedError):  # after a restart as well
        admission(LocalSecret.in_file(tmp_path / "secret")).authenticate("a.Service", "", "", "")


@pytest.mark.parametrize(
    ("secret", "address"),
    [(OF_THIS_PROCESS, "0.0.0.0:9101"), (SecretStr("s" * 32), "127.0.0.1:9101")],
)
def test_a_call_without_a_token_is_refused_on_a_network_and_where_a_secret_is_set(
    secret: SecretStr, address: str
) -> None:
    with pytest.raises(UnauthenticatedError):
        admission(secret, address).authenticate("a.Service", "", "", "")
    assert not caller().identity.subject


def test_settings_of_a_process_have_the_secret_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEDDLE_LOCAL_SECRET_FILE", str(tmp_path / "secret"))
    assert isinstance(read(ServiceSettings, []).identity_secret, LocalSecret)
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", "s" * 32)
    assert not isinstance(read(ServiceSettings, []).identity_secret, LocalSecret)


@pytest.mark.parametrize("address", ["unix:/run/heddle", "localhost:1", "127.0.0.1:1", "[::1]:1"])
def test_services_of_this_machine_need_no_setting(address: str) -> None:
    assert WithPeer(peer_address=address).identity_secret is OF_THIS_PROCESS


@pytest.mark.parametrize("address", ["tools:9102", "10.0.0.7:9102", "[2001:db8::1]:9102"])
def test_a_service_elsewhere_needs_the_secret(address: str) -> None:
    with pytest.raises(ValidationError, match="is on another machine: set HEDDLE_IDENTITY_SECRET"):
        WithPeer(peer_address=address)


class WithPeer(ServiceSettings):
    """Settings of a service that calls another one."""

    peer_address: str
