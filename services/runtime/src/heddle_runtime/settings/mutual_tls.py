"""Mutual TLS between services: both sides show a certificate of one authority."""

import ssl
from pathlib import Path
from typing import Any, Self

import grpc
from pydantic import Field, ValidationError, model_validator
from pydantic_settings import SettingsConfigDict

from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.settings.secret_files import SecretFileSettings
from heddle_runtime.settings.service_address import Location, single_location

_CERTIFICATE = "HEDDLE_TLS_CERTIFICATE"
_KEY = "HEDDLE_TLS_KEY"
_CA = "HEDDLE_TLS_CA"


class TlsSettings(SecretFileSettings):
    """The files of mutual TLS, the same settings for services and commands."""

    model_config = SettingsConfigDict(
        env_ignore_empty=True, extra="ignore", frozen=True, populate_by_name=True
    )

    tls_certificate: Path | None = Field(
        default=None,
        validation_alias=_CERTIFICATE,
        description="A PEM file with the certificate, and the chain up to the authority. It shows "
        "callers who the service is, and other services who calls, and names the host at which "
        "clients find the service, and 127.0.0.1 for health checks. With it, HEDDLE_TLS_KEY and "
        "HEDDLE_TLS_CA, services accept only callers with a certificate of the same authority. "
        "Restart services to replace it. Unix sockets and the HTTP port of the gateway have no "
        "TLS.",
    )
    tls_key: Path | None = Field(
        default=None,
        validation_alias=_KEY,
        description="A PEM file with the key of the certificate, without a passphrase.",
    )
    tls_ca: Path | None = Field(
        default=None,
        validation_alias=_CA,
        description="A PEM file with the certificates of the authorities that vouch for services "
        "and commands. Use an authority that serves Heddle alone.",
    )

    @model_validator(mode="after")
    def _require_usable_files(self) -> Self:
        files = {_CERTIFICATE: self.tls_certificate, _KEY: self.tls_key, _CA: self.tls_ca}
        missing = [name for name, file in files.items() if file is None]
        if not missing:
            _check(files)
        elif len(missing) < len(files):
            message = f"mutual TLS needs three files: set {' and '.join(missing)}, too"
            raise ValueError(message)
        return self

    @property
    def tls(self) -> "TlsFiles | None":
        """The TLS files of the server and the clients of this process; None without TLS."""
        if self.tls_certificate is None or self.tls_key is None or self.tls_ca is None:
            return None
        return TlsFiles(self.tls_certificate, self.tls_key, self.tls_ca)


class TlsFiles:
    """A certificate, its key and the authorities, as gRPC needs them."""

    def __init__(self, certificate: Path, key: Path, ca: Path) -> None:
        self._certificate = certificate.read_bytes()
        self._key = key.read_bytes()
        self._ca = ca.read_bytes()

    def of_server(self) -> grpc.ServerCredentials:
        """Return the credentials of a server that refuses clients without a certificate."""
        pairs = [(self._key, self._certificate)]
        return grpc.ssl_server_credentials(pairs, self._ca, require_client_auth=True)

    def of_client(self) -> grpc.ChannelCredentials:
        """Return the credentials of a client."""
        return grpc.ssl_channel_credentials(self._ca, self._key, self._certificate)


def uses_tls(address: str) -> bool:
    """Return whether a service at `address` uses TLS if it is configured: not on Unix sockets."""
    return not address.startswith("unix:")


def channel_from_environment(address: str | Location, options: list[Any]) -> grpc.Channel:
    """Return a synchronous channel to a service, with the TLS files of the environment.

    Args:
        address: Of the service, or of one of its replicas.
        options: Of the channel.

    Raises:
        InvalidRequestError: The files are not complete or not usable, or the address is none.
    """
    try:
        tls = TlsSettings().tls
    except ValidationError as error:
        problem = error.errors()[0]["msg"].removeprefix("Value error, ")
        raise InvalidRequestError(f"{problem}.") from error
    try:
        location = single_location(address) if isinstance(address, str) else address
    except ValueError as error:
        raise InvalidRequestError(f"{error}.") from error
    if tls and uses_tls(location.target):
        if location.authority:
            options = [*options, ("grpc.default_authority", location.authority)]
        return grpc.secure_channel(location.target, tls.of_client(), options)
    return grpc.insecure_channel(location.target, options)


def _check(files: dict[str, Path | None]) -> None:
    """Raise `ValueError` unless gRPC can use the files. gRPC itself would not say why it cannot."""
    for name, file in files.items():
        try:
            Path(str(file)).read_bytes()
        except OSError as error:
            message = f"{name}: cannot read {file}: {error.strerror}"
            raise ValueError(message) from error
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # A password, as OpenSSL would otherwise ask for one at the terminal.
        context.load_cert_chain(str(files[_CERTIFICATE]), str(files[_KEY]), password="")
    except ssl.SSLError as error:
        message = f"{_CERTIFICATE} and {_KEY} must be PEM files with a certificate and its key"
        raise ValueError(message) from error
    try:
        context.load_verify_locations(files[_CA])
    except ssl.SSLError as error:
        message = f"{_CA} must be a PEM file with the certificate of an authority"
        raise ValueError(message) from error
