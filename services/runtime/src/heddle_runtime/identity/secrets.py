"""Secrets in settings, and in files that only the user of the services may read."""

import os
import secrets
from pathlib import Path

import structlog

log = structlog.get_logger(__name__)
_BYTES = 48


def split_secrets(text: str) -> list[str]:
    """Return the secrets of a setting, which are separated by commas. The first is the current one.

    Several secrets are valid at the same time while an operator replaces one.
    """
    return [each.strip() for each in text.split(",")]


def read_or_create_secret(path: Path) -> str:
    """Return the secret in a file. Creates the file, in one step, if there is none.

    Processes that call this at the same time get the same secret.

    Raises:
        OSError: The file cannot be read or created, or others may read it.
    """
    try:
        return read_secret(path)
    except FileNotFoundError:
        _make(path)
        return read_secret(path)  # of several processes that start at once, one made it


def read_secret(path: Path) -> str:
    """Return the secret in a file.

    Raises:
        FileNotFoundError: There is no file.
        OSError: It cannot be read, others may read it, or it holds no secret.
    """
    with path.open(encoding="ascii") as file:
        if os.fstat(file.fileno()).st_mode & 0o077:
            raise PermissionError(f"Others may read {path}. Run: chmod 600 {path}")
        text = file.read().strip()
    if len(text) < _BYTES:
        raise OSError(f"{path} holds no secret. Restore it from a backup.")
    return text


def _make(path: Path) -> None:
    # Complete before it has its name: no process reads half of it, and a crash leaves none.
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_urlsafe(_BYTES))
            file.flush()
            os.fsync(file.fileno())
        try:
            path.hardlink_to(draft)
        except FileExistsError:
            return
        log.info("generated a secret", path=str(path))
    finally:
        draft.unlink()
