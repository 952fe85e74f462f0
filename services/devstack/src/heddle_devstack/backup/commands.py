"""Implements the commands of `heddle_cli.commands.backup`."""

import asyncio
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import aclosing, closing, contextmanager
from pathlib import Path
from typing import IO

from heddle_assistants.database.schema import SCHEMA
from heddle_cli.terminal import columns, counted, notes, out, plain
from heddle_knowledge.errors import CollectionNotFoundError, KnowledgeError
from heddle_runtime.errors import HeddleError, InvalidRequestError, StorageError
from heddle_runtime.storage.database.upgrading import newest_revision
from heddle_runtime.storage.private_files import private_folder

from heddle_devstack.backup import restoring, secret_rows
from heddle_devstack.backup.archive import (
    ArchiveWriter,
    Manifest,
    Summary,
    digest,
    new_file,
    new_header,
    read_archive,
    unpacked_rows,
)
from heddle_devstack.backup.installation import SECRETS, WORKSPACES, parts
from heddle_devstack.backup.stores import Stores

STANDARD = Path("-")
_STAGING = ".restoring-"
_MAX_SHOWN = 20


def back_up(path: Path, *, workspaces: bool, with_secrets: bool) -> None:
    """Write an archive to a file or to standard output."""
    stores = Stores.read()
    contents = [*([SECRETS] if with_secrets else []), *([WORKSPACES] if workspaces else [])]
    with _failures():
        if path == STANDARD:
            manifest = asyncio.run(_write(stores, sys.stdout.buffer, None, contents))
            sys.stdout.buffer.flush()
        else:
            with new_file(path) as file:
                manifest = asyncio.run(_write(stores, file, path.parent, contents))
    console = notes if path == STANDARD else out
    console.print(f"backup {manifest.header.id}: {_described(manifest.parts)}")


def check(path: Path) -> None:
    """Read an archive and compare each part with its manifest."""
    with _failures(), _opened(path) as stream:
        manifest = read_archive(stream)
    header = manifest.header
    out.print(f"backup {header.id} of Heddle {header.heddle}: {_described(manifest.parts)}")
    columns([("PART", "ROWS", "BYTES"), *_by_kind(manifest.parts)])
    out.print("The archive is whole.")


def restore(path: Path) -> None:
    """Bring an archive into the empty installation of the settings, and read it again."""
    stores = Stores.read()
    with _failures(), _unpacked(path, stores) as (manifest, folder):
        refused = asyncio.run(restoring.restore(stores, manifest, folder))
        differences = asyncio.run(_differences(stores, manifest))
    for row in refused:
        notes.print(plain(f"not restored: {row}"), style="red")
    _report(manifest, differences)


def compare(path: Path) -> None:
    """Read the installation of the settings and compare it with an archive."""
    stores = Stores.read()
    with _failures(), _opened(path) as stream:
        manifest = read_archive(stream)
        differences = asyncio.run(_differences(stores, manifest))
    _report(manifest, differences)


def write_secrets(path: Path, target: Path) -> None:
    """Write the secrets of an archive to files of a folder."""
    with _failures(), tempfile.TemporaryDirectory() as staging, _opened(path) as stream:
        folder = Path(staging)
        read_archive(stream, folder)
        secrets, files = (
            unpacked_rows(folder, f"settings/{kind}") for kind in ("secrets", "files")
        )
        count = asyncio.run(secret_rows.write_all(target, secrets, files))
    out.print(f"{counted(count, 'file')} in {target}")


async def _write(
    stores: Stores, stream: IO[bytes], folder: Path | None, contents: list[str]
) -> Manifest:
    writer = ArchiveWriter(stream, folder, new_header(newest_revision(SCHEMA), contents))
    with closing(writer):
        async with aclosing(parts(stores, contents)) as listed_parts:
            async for part in listed_parts:
                try:
                    await writer.add(part)
                except CollectionNotFoundError:  # deleted meanwhile
                    part.gone = True
        return _required(writer.finish())


def _required(manifest: Manifest) -> Manifest:
    if not any(part.name.startswith("database/") for part in manifest.parts):
        raise InvalidRequestError(
            "There is nothing to back up: no database at HEDDLE_ASSISTANTS_DATABASE. "
            "Run the command in the folder of the services, and with their settings."
        )
    return manifest


async def _differences(stores: Stores, manifest: Manifest) -> list[str]:
    archived = {part.name: part for part in manifest.parts if not part.name.startswith("settings/")}
    own: dict[str, Summary] = {}
    contents = [each for each in manifest.header.contents if each == WORKSPACES]
    async with aclosing(parts(stores, contents)) as listed_parts:
        async for part in listed_parts:
            own[part.name] = await digest(part)
    missing = [
        _difference(name, archived.get(name), own.get(name))
        for name in sorted({*archived, *own})
        if archived.get(name) != own.get(name)
    ]
    return [each for each in missing if each]


def _difference(name: str, archived: Summary | None, own: Summary | None) -> str:
    before, now = (each.rows if each else 0 for each in (archived, own))
    if before == now == 0:
        return ""
    counts = f"{before} in the archive, {now} here" if before != now else "other content"
    return f"{name}: {counts}"


def _report(manifest: Manifest, differences: list[str]) -> None:
    if not differences:
        out.print(f"The installation holds what the backup {manifest.header.id} holds:")
        out.print(f"{_described(manifest.parts)}.")
        return
    for difference in differences[:_MAX_SHOWN]:
        notes.print(difference, style="red")
    raise InvalidRequestError(
        f"The installation differs from the backup in {counted(len(differences), 'part')}."
    )


def _described(summaries: Collection[Summary]) -> str:
    rows, size = (sum(getattr(part, name) for part in summaries) for name in ("rows", "size"))
    return f"{rows:,} rows in {len(summaries)} parts, {size / 1024**2:,.1f} MiB"


def _by_kind(summaries: Iterable[Summary]) -> list[tuple[str, ...]]:
    rows: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for part in summaries:
        name = "/".join(part.name.split("/")[:2])
        rows[name] += part.rows
        sizes[name] += part.size
    return [(name, f"{rows[name]:,}", f"{sizes[name]:,}") for name in rows]


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    if path == STANDARD:
        yield sys.stdin.buffer
        return
    with path.open("rb") as file:
        yield file


@contextmanager
def _unpacked(path: Path, stores: Stores) -> Iterator[tuple[Manifest, Path]]:
    """Unpack an archive where the knowledge will be, and so has room."""
    parent = stores.knowledge.data_dir
    private_folder(parent)
    for left_over in parent.glob(f"{_STAGING}*"):  # of a restore that was killed
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=_STAGING, dir=parent) as staging, _opened(path) as file:
        yield read_archive(file, Path(staging)), Path(staging)


@contextmanager
def _failures() -> Iterator[None]:
    """Report in one sentence what cannot be read or written."""
    try:
        yield
    except KnowledgeError as error:
        raise StorageError(str(error)) from error
    except OSError as error:
        raise InvalidRequestError(
            f"{error.filename or 'A file'}: {error.strerror or error}"
        ) from error
    except HeddleError as error:
        if error.diagnosis:
            notes.print(error.diagnosis)
        raise
