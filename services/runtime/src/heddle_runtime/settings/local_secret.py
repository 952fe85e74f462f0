"""The secret that the services of one machine share if the operator sets none.

It is in a file that only the user of the services may read. As long as no gateway with API keys
uses it, services that listen on loopback also answer calls without a token, as calls of the
developer: that is how programs and grpcurl reach a Heddle on a laptop. A gateway with API keys ends
that for all services with a second file. The second file stays, so that a restart opens nothing.
"""

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Self

from pydantic import SecretStr

from heddle_runtime.identity.secrets import read_or_create_secret
from heddle_runtime.redaction import register_values
from heddle_runtime.settings.addresses import is_local

_REQUIRED = ".required"


class LocalSecret(SecretStr):
    """A secret that the services of a machine share in a file, or those of one process."""

    def __init__(self, value: str, file: Path | None = None) -> None:
        super().__init__(value)
        self._marker = file.with_name(f"{file.name}{_REQUIRED}") if file else None

    @classmethod
    def in_file(cls, file: Path) -> Self:
        """Return the secret in a file. Creates the file if there is none.

        Raises:
            OSError: The file cannot be read or created, or others may read it.
        """
        file = file.absolute()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        secret = cls(read_or_create_secret(file), file)
        register_values([secret.get_secret_value()], secret)
        return secret

    def require_tokens(self) -> None:
        """Make all services that share this secret refuse calls without a token.

        Raises:
            OSError: The second file cannot be created.
        """
        if self._marker is not None:
            self._marker.touch(0o600)

    def requires_tokens(self) -> bool:
        """Return whether calls need a token."""
        return self._marker is not None and self._marker.exists()


OF_THIS_PROCESS = LocalSecret(secrets.token_urlsafe(48))
"""The secret of settings that a program makes itself, without a secret and without a file."""


def admits_developer(secret: SecretStr, address: str) -> Callable[[], bool]:
    """Return the function that says whether calls without a token count as the developer's.

    Args:
        secret: The secret of the service.
        address: The address on which the service listens.
    """
    if not (isinstance(secret, LocalSecret) and is_local(address)):
        return lambda: False
    return lambda: not secret.requires_tokens()
