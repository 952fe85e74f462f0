"""A certificate authority of the tests, and the TLS settings of a provider that it vouches for."""

import ssl
from pathlib import Path

import trustme


class Authority:
    """Issues certificates that clients trust after `install`."""

    def __init__(self, folder: Path) -> None:
        self._ca = trustme.CA()
        self.certificate = folder / "authority.pem"
        self._ca.cert_pem.write_to_path(str(self.certificate))

    def server_context(self, *hosts: str) -> ssl.SSLContext:
        """Return the TLS settings of a server with a certificate for `hosts`."""
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self._ca.issue_cert(*(hosts or ("127.0.0.1",))).configure_cert(context)
        return context
