"""Checks of this machine: disk, database and secrets, by the settings in the environment."""

import asyncio
import os
import shutil
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from heddle_runtime.errors import HeddleError, InvalidRequestError
from heddle_runtime.identity.secrets import split_secrets
from heddle_runtime.redaction import redact
from heddle_runtime.serving.readiness import folder_check
from heddle_runtime.settings.service import MIN_SECRET_CHARACTERS

from heddle_cli.doctor.findings import Finding, explained
from heddle_cli.secret import SECRET, SECRET_FILE, local_secret_file, services_secret

FOLDERS = {
    "HEDDLE_KNOWLEDGE_DATA_DIR": ".heddle/knowledge",
    "HEDDLE_CONNECTOR_IMAGES_DIR": ".heddle/images",
    "HEDDLE_TOOLS_WORKSPACE_DIR": ".heddle/workspaces",
}
"""The settings of the folders that services write to, with their defaults."""
DATABASE, DEFAULT_DATABASE = "HEDDLE_ASSISTANTS_DATABASE", "sqlite:///.heddle/heddle.db"
BESIDE_DATABASE = (".encryption-key", ".pepper")
"""The endings of the secrets that are kept beside a database file."""
_LOG_FILE = "HEDDLE_DEVSTACK_LOG_FILE"
_GIB = 1024**3
_OTHERS = 0o077
_DATABASE_SECONDS = 10.0
_DATABASE_MODULES = (
    "heddle_runtime.storage.database.engine",
    "heddle_runtime.storage.database.upgrading",
    "heddle_assistants.database.schema",
)
"""What a command without services lacks."""


def disk_findings() -> Iterator[Finding]:
    """Check that the folders of the services can be written and that their disks have space."""
    folders = [Path(os.environ.get(name) or default) for name, default in FOLDERS.items()]
    working: dict[int, Path] = {}
    for folder in folders:
        try:
            asyncio.run(_check(folder))
        except HeddleError as error:
            yield explained("disk", "wrong", error.diagnosis or error.message)
        except OSError as error:
            text = f"{folder} cannot be written: {error.strerror}."
            yield Finding("disk", "wrong", text, "Give its rights to the user of the services.")
        else:
            existing = next(each for each in (folder, *folder.absolute().parents) if each.exists())
            working.setdefault(existing.stat().st_dev, existing)
    for folder in working.values():
        free = shutil.disk_usage(folder).free / _GIB
        if free < 1:
            text = f"Only {free:.1f} GB are free for {folder}."
            yield Finding("disk", "warning", text, "Free space on this disk.")
        else:
            yield Finding("disk", "ok", f"{folder} can be written, {free:.0f} GB are free.")


async def _check(folder: Path) -> None:
    await folder_check(folder)()


def database_findings() -> Iterator[Finding]:
    """Check that the database can be reached and has tables of this version."""
    if find_spec("heddle_assistants") is None:
        return
    for module in _DATABASE_MODULES:
        import_module(module)  # here: a busy machine needs seconds for it
    try:
        yield asyncio.run(asyncio.wait_for(_database(), _DATABASE_SECONDS))
    except TimeoutError:
        yield _unreached(f"The database does not answer within {_DATABASE_SECONDS:.0f} s.")
    except HeddleError as error:
        yield _unreached(error.diagnosis or error.message)
    except Exception as error:  # noqa: BLE001 - whatever the driver raises is the finding
        yield _unreached(redact(f"{type(error).__name__}: {error}"))


def _unreached(problem: str) -> Finding:
    remedy = f"Start the database server, or correct {DATABASE}: see docs/postgresql.md."
    return Finding("database", "wrong", problem, remedy)


async def _database() -> Finding:
    url = _url()
    storage, upgrading, schema = (import_module(name) for name in _DATABASE_MODULES)
    path = _database_file(url)
    if path is not None and not path.exists():
        return Finding("database", "ok", f"{path} is created at the first start.")
    async with storage.open_database(url) as database:
        revision = await upgrading.current_revision(database)
    newest = upgrading.newest_revision(schema.SCHEMA)
    if revision in ("", newest):
        return Finding("database", "ok", f"It answers; its tables are of version {newest}.")
    return Finding(
        "database",
        "wrong",
        f"Its tables are of version {revision}, this Heddle needs {newest}.",
        "Restart the services with this version, which upgrades the tables, or use the version of "
        "Heddle that upgraded them: see docs/guides/upgrades.md.",
    )


def _url() -> str:
    return os.environ.get(DATABASE) or DEFAULT_DATABASE


def _database_file(url: str) -> Path | None:
    """Return the file of a SQLite database, None for a server."""
    address: Any = import_module("heddle_runtime.storage.database.address")
    parsed = address.parse(url)
    return parsed.path if isinstance(parsed, address.SqliteAddress) else None


def secret_findings() -> Iterator[Finding]:
    """Check that the secret of the services is there, and that only its owner reads files of it."""
    yield _identity_secret()
    for path in _files_of_secrets():
        yield _private(path)


def _identity_secret() -> Finding:
    check = "secret of the services"
    try:
        secret = services_secret()
    except InvalidRequestError as error:
        return explained(check, "wrong", error.message)
    if not secret:
        text = f"There is none yet: the services make {local_secret_file()} at their first start."
        remedy = f"Start Heddle, or set {SECRET} or {SECRET_FILE} as for the services."
        return Finding(check, "warning", text, remedy)
    if any(len(each) < MIN_SECRET_CHARACTERS for each in split_secrets(secret)):
        text = f"It has fewer than {MIN_SECRET_CHARACTERS} characters."
        return Finding(check, "wrong", text, f"Set {SECRET} to a longer one for all services.")
    return Finding(check, "ok", "It is set.")


def _files_of_secrets() -> Iterator[Path]:
    for name, value in os.environ.items():
        is_file = name.startswith("HEDDLE_") and name.endswith("_FILE")
        if is_file and value and name not in (SECRET_FILE, _LOG_FILE):
            yield Path(value)
    local = local_secret_file()
    if local.exists():
        yield local
    if find_spec("sqlalchemy") and (file := _database_file(_url())):
        beside = (file.with_name(f"{file.name}{ending}") for ending in BESIDE_DATABASE)
        yield from (each for each in beside if each.exists())


def _private(path: Path) -> Finding:
    check = f"file {path}"
    try:
        mode = path.stat().st_mode
    except OSError as error:
        remedy = "Restore it, or name another file in the settings."
        return Finding(check, "wrong", f"It cannot be read: {error.strerror}.", remedy)
    if mode & _OTHERS:
        return Finding(check, "wrong", "Others may read this secret.", f"Run: chmod 600 {path}")
    return Finding(check, "ok", "Only its owner may read it.")
