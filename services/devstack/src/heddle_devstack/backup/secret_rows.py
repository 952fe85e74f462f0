"""Secrets: those of settings, those that Heddle generated, and files that settings name."""

import base64
import os
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from heddle_assistants.accounts.bootstrap import ENCRYPTION_FILE, PEPPER_FILE
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.identity.secrets import split_secrets
from heddle_runtime.settings.local_secret import LocalSecret
from heddle_runtime.settings.secret_files import is_secret, secret_in_file, variables
from heddle_runtime.storage.database.address import SqliteAddress, parse
from heddle_runtime.storage.durable_files import write

from heddle_devstack import StackSettings, optional_classes
from heddle_devstack.backup.archive import Row
from heddle_devstack.backup.stores import Stores

_PEPPER, _KEY = "HEDDLE_ASSISTANTS_KEY_PEPPER", "HEDDLE_ASSISTANTS_ENCRYPTION_KEY"
_GENERATED = {_PEPPER: PEPPER_FILE, _KEY: ENCRYPTION_FILE}
_IDENTITY, _LOCAL = "HEDDLE_IDENTITY_SECRET", "HEDDLE_LOCAL_SECRET_FILE"
_FILES = ("api_keys", "oidc_providers", "prices", "dspy_program", "tls_certificate", "tls_key")


async def secrets(stores: Stores) -> AsyncIterator[dict[str, Any]]:
    """Yield the variables that hold secrets, with their values."""
    for variable, value in sorted(_secrets(stores).items()):
        yield {"variable": variable, "value": value}


async def files() -> AsyncIterator[dict[str, Any]]:
    """Yield the files that settings name and that hold secrets or the operator's lists."""
    values: dict[str, bytes] = {}
    for kind in _settings_classes():
        for name in set(_FILES) & set(kind.model_fields):
            for variable in variables(kind, name):
                path = Path(os.environ.get(variable) or "/")
                if path.is_file():
                    values[variable] = path.read_bytes()
    for variable, content in sorted(values.items()):
        yield {"variable": variable, "content": content}


async def write_all(folder: Path, secret: AsyncIterable[Row], file: AsyncIterable[Row]) -> int:
    """Write each secret to a file with the name of its variable; return how many there are."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    count = 0
    async for row in secret:
        write(folder / _name(row), row["value"].encode())
        count += 1
    async for row in file:
        write(folder / f"{_name(row)}.file", base64.b64decode(row["content"]))
        count += 1
    return count


async def install(stores: Stores, incoming: AsyncIterable[Row]) -> None:
    """See to it that the services will have the secrets that the stored rows need.

    Raises:
        InvalidRequestError: They would have others. Nothing was changed.
    """
    backed_up = {row["variable"]: row["value"] async for row in incoming}
    own = _secrets(stores)
    missing = [
        variable
        for variable in _GENERATED
        if variable in backed_up and not _holds(own, variable, backed_up[variable])
    ]
    address = parse(stores.assistants.database)
    for variable in missing:
        if variable in own or not isinstance(address, SqliteAddress):
            raise InvalidRequestError(
                f"The rows of the backup need its secrets. Write them with `heddle restore ARCHIVE "
                f"--secrets FOLDER`, set {variable}_FILE to FOLDER/{variable}, and try again."
            )
    for variable in missing:
        assert isinstance(address, SqliteAddress)  # noqa: S101 - checked above
        path = _beside(address, _GENERATED[variable])
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write(path, backed_up[variable].encode())
    local = stores.assistants.local_secret_file
    if _LOCAL in backed_up and _IDENTITY not in own and not local.exists():
        local.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write(local, backed_up[_LOCAL].encode())


def _secrets(stores: Stores) -> dict[str, str]:
    values = dict(_configured())
    address = parse(stores.assistants.database)
    if isinstance(address, SqliteAddress):
        for variable, ending in _GENERATED.items():
            path = _beside(address, ending)
            if variable not in values and path.exists():
                values[variable] = path.read_text(encoding="ascii").strip()
    local = stores.assistants.local_secret_file
    if _IDENTITY not in values and local.exists():
        values[_LOCAL] = LocalSecret.in_file(local).get_secret_value()
    return values


def _settings_classes() -> list[type[Any]]:
    return [*StackSettings.classes().values(), *optional_classes().values()]


def _configured() -> Iterator[tuple[str, str]]:
    for kind in _settings_classes():
        for name, field in kind.model_fields.items():
            for variable in variables(kind, name) if is_secret(field) else ():
                value = os.environ.get(variable) or secret_in_file(variable)
                if value:
                    yield variable, value


def _holds(own: dict[str, str], variable: str, backed_up: str) -> bool:
    return set(split_secrets(backed_up)) <= set(split_secrets(own.get(variable, "")))


def _beside(address: SqliteAddress, ending: str) -> Path:
    return address.path.with_name(f"{address.path.name}{ending}")


def _name(row: Row) -> str:
    variable = str(row["variable"])
    if not variable.replace("_", "").isalnum() or not variable.isascii():
        raise InvalidRequestError(f"The archive names a variable {variable[:100]!r}.")
    return variable
