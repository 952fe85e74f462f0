"""Certificates that services and their callers show each other, made for one test."""

from pathlib import Path

import trustme


class Authority:
    """An authority that vouches for services."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._ca = trustme.CA()
        self._folder = folder
        self.file = folder / f"{name}.pem"
        self._ca.cert_pem.write_to_path(str(self.file))

    def issue(self, *hosts: str) -> dict[str, str]:
        """Return the settings of a process with a new certificate for `hosts`."""
        leaf = self._ca.issue_cert(*(hosts or ("127.0.0.1",)))
        stem = f"{self.file.stem}-{leaf.cert_chain_pems[0].bytes()[-60:-40].hex()}"
        certificate, key = (self._folder / f"{stem}.{kind}" for kind in ("crt", "key"))
        for pem in leaf.cert_chain_pems:
            pem.write_to_path(str(certificate), append=True)
        leaf.private_key_pem.write_to_path(str(key))
        return {
            "HEDDLE_TLS_CERTIFICATE": str(certificate),
            "HEDDLE_TLS_KEY": str(key),
            "HEDDLE_TLS_CA": str(self.file),
        }
