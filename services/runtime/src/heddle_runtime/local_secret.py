"""The secret that the services of one machine share if the operator sets none.

It is in a file that only the user of the services may read. As long as no gateway with API keys
uses it, services also answer calls without a token, as calls of the operator: that is how programs
and grpcurl reach a Heddle on a laptop. A gateway with API keys ends that for all services with a
second file. The second file stays, so that a restart opens nothing.
"""

from pathlib import Path
from typing import Self

from pydantic import SecretStr

from heddle_runtime.redaction import register_values
from heddle_runtime.secret_file import read_or_create_secret

_REQUIRED = ".required"


class LocalSecret(SecretStr):
    """A secret that the services of a machine share in a file."""

    def __init__(self, value: str, file: Path) -> None:
        super().__init__(value)
        self._marker = file.with_name(f"{file.name}{_REQUIRED}")

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
        self._marker.touch(0o600)

    def requires_tokens(self) -> bool:
        """Return whether calls need a token."""
        return self._marker.exists()
