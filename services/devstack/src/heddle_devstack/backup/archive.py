"""The archive: a tar of parts, each with one row in JSON per line.

The first member says which format it has, and the last one what each part must hold.
"""

import hashlib
import os
import re
import tarfile
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any

import msgspec
from heddle_runtime.errors import HeddleError, InvalidRequestError, NewerFormatError
from heddle_runtime.storage.durable_files import sync

FORMAT = 1
_HEADER, _MANIFEST = "heddle-backup.json", "manifest.json"
_NAME = re.compile(r"[a-z_]+/[a-z_]+(/[0-9a-f]{32})?")
_SUFFIX = ".jsonl"
_MAX_JSON = 16 * 1024**2
_BLOCK = 1024**2
_MAX_RATIO = 100
"""Unpacked bytes for each byte of an archive, beyond the first ones. Rows have identifiers and
times, so real archives stay below 50."""
_UNLIMITED_BYTES = 64 * 1024**2
Row = Mapping[str, Any]


class Header(msgspec.Struct, frozen=True):
    """The header of an archive, which precedes the first part."""

    format: int
    id: str
    """The identifier of the backup."""
    heddle: str
    """The version of Heddle that made it."""
    schema: str
    """The revision of the tables of the assistants service."""
    created_at: int
    """The start of the backup, in seconds since 1970."""
    contents: list[str]
    """The optional contents: `secrets`, `workspaces`."""


class Summary(msgspec.Struct, frozen=True):
    """The expected content of a part."""

    name: str
    rows: int
    size: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """All parts of an archive."""

    header: Header
    parts: list[Summary]


class DamagedArchiveError(InvalidRequestError):
    """An archive does not hold what it held when it was written."""


@dataclass(slots=True)
class Part:
    """Rows of one kind, in an order that depends on nothing but the rows."""

    name: str
    rows: AsyncIterator[Row]
    gone: bool = False
    """Set if what it is part of was deleted while it was read."""


@dataclass(slots=True)
class Digest:
    """Counts what passes."""

    rows: int = 0
    size: int = 0
    _hash: Any = field(default_factory=hashlib.sha256)

    def add(self, data: bytes) -> None:
        """Count bytes."""
        self.rows += data.count(b"\n")
        self.size += len(data)
        self._hash.update(data)

    def summary(self, name: str) -> Summary:
        """Return the summary of the data that passed."""
        return Summary(name, self.rows, self.size, self._hash.hexdigest())


async def digest(part: Part, file: IO[bytes] | None = None) -> Summary:
    """Read a part to its end, and write it to a file."""
    counted = Digest()
    async for row in part.rows:
        line = msgspec.json.encode(row) + b"\n"
        counted.add(line)
        if file is not None:
            file.write(line)
    return counted.summary(part.name)


class ArchiveWriter:
    """Writes an archive, part by part."""

    def __init__(self, stream: IO[bytes], folder: Path | None, header: Header) -> None:
        """Begin an archive.

        Args:
            stream: Where it goes. It need not be seekable.
            folder: Where the largest part has room; None: the system's folder for such files.
            header: Its first member.
        """
        self._tar = tarfile.open(fileobj=stream, mode="w|", format=tarfile.PAX_FORMAT)  # noqa: SIM115 - closed by `close`
        self._folder = folder
        self._header = header
        self._parts: list[Summary] = []
        self._add_json(_HEADER, header)

    async def add(self, part: Part) -> None:
        """Add a part. What an exception breaks off is not in the archive."""
        with tempfile.TemporaryFile(dir=self._folder) as file:
            summary = await digest(part, file)
            file.seek(0)
            self._add(f"{part.name}{_SUFFIX}", summary.size, file)
        self._parts.append(summary)

    def finish(self) -> Manifest:
        """Write what tells that the archive is whole."""
        manifest = Manifest(self._header, self._parts)
        self._add_json(_MANIFEST, manifest)
        return manifest

    def close(self) -> None:
        """Write the end of the tar. An archive that is not finished is not whole."""
        self._tar.close()

    def _add_json(self, name: str, value: msgspec.Struct) -> None:
        data = msgspec.json.format(msgspec.json.encode(value), indent=1)
        with tempfile.TemporaryFile(dir=self._folder) as file:
            file.write(data)
            file.seek(0)
            self._add(name, len(data), file)

    def _add(self, name: str, size: int, file: IO[bytes]) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, self._header.created_at
        self._tar.addfile(member, file)


def new_header(schema: str, contents: list[str]) -> Header:
    """Return the header of an archive that is begun now."""
    identifier = uuid.uuid4().hex
    return Header(
        FORMAT, identifier, version("heddle-devstack"), schema, int(time.time()), contents
    )


@contextmanager
def new_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a new file that only its user may read; it has its name when it is whole.

    Raises:
        InvalidRequestError: There is a file of that name.
    """
    if path.exists():
        raise InvalidRequestError(f"{path} exists already. Choose another name.")
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
    sync(path.parent)


def read_archive(stream: IO[bytes], folder: Path | None = None) -> Manifest:
    """Read an archive to its end and compare every part with the manifest.

    Args:
        stream: The archive, also compressed by gzip, bzip2 or xz.
        folder: Where the parts are unpacked; None: nowhere.

    Raises:
        DamagedArchiveError: It is damaged, or no archive of Heddle. The message names the part.
        HeddleError: A newer Heddle made it.
    """
    summaries: dict[str, Summary] = {}
    manifest: Manifest | None = None
    place = "its beginning"
    packed = _Packed(stream)
    try:
        with tarfile.open(fileobj=packed, mode="r|*") as tar:  # type: ignore[call-overload] # it only reads
            for member in tar:
                place = f"{member.name[:100]!r}"
                data = tar.extractfile(member) if member.isreg() else None
                if data is None or manifest is not None:
                    raise _damaged(f"{place} does not belong into it")
                if not summaries and place == f"{_HEADER!r}":
                    _check_header(data.read(_MAX_JSON))
                    summaries[_HEADER] = Summary("", 0, 0, "")
                elif member.name == _MANIFEST:
                    manifest = msgspec.json.decode(data.read(_MAX_JSON), type=Manifest)
                else:
                    name = _name_of_part(member.name, summaries)
                    summaries[name] = _unpacked(name, packed.limited(data), folder)
    except (tarfile.TarError, EOFError, OSError, msgspec.MsgspecError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # a disk, not the archive
            raise
        raise _damaged(f"it cannot be read after {place}") from error
    if manifest is None:
        raise _damaged(f"it ends after {place}")
    _compare(manifest, summaries)
    return manifest


class _Packed:
    """The stream of an archive, which limits what is unpacked from it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._read = 0
        self._unpacked = 0

    def read(self, size: int) -> bytes:
        data = self._stream.read(size)
        self._read += len(data)
        return data

    def limited(self, member: IO[bytes]) -> Iterator[bytes]:
        """Yield the blocks of a member."""
        while block := member.read(_BLOCK):
            self._unpacked += len(block)
            if self._unpacked > _UNLIMITED_BYTES + _MAX_RATIO * self._read:
                raise _damaged(f"it unpacks to more than {_MAX_RATIO} times its size")
            yield block


def part_file(folder: Path, name: str) -> Path:
    """Return the path of an unpacked part."""
    return folder / f"{name.replace('/', '.')}{_SUFFIX}"


async def unpacked_rows(folder: Path, name: str) -> AsyncIterator[Row]:
    """Yield the rows of an unpacked part; none if the archive does not have it."""
    path = part_file(folder, name)
    if path.exists():
        with path.open("rb") as file:
            for line in file:
                yield msgspec.json.decode(line)


def _check_header(data: bytes) -> None:
    known = msgspec.json.decode(data, type=dict[str, Any])
    if known.get("format") != FORMAT:
        raise NewerFormatError(
            f"The archive has format {known.get('format')}, and this Heddle reads format {FORMAT}. "
            f"Restore it with Heddle {known.get('heddle')}."
        )


def _name_of_part(member: str, summaries: Mapping[str, Summary]) -> str:
    name = member.removesuffix(_SUFFIX)
    if name == member or not _NAME.fullmatch(name) or name in summaries or not summaries:
        raise _damaged(f"{member[:100]!r} does not belong into it")
    return name


def _unpacked(name: str, blocks: Iterator[bytes], folder: Path | None) -> Summary:
    counted = Digest()
    file = None
    if folder is not None:
        path = part_file(folder, name)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        file = os.fdopen(descriptor, "wb")
    try:
        for block in blocks:
            counted.add(block)
            if file is not None:
                file.write(block)
    finally:
        if file is not None:
            file.close()
    return counted.summary(name)


def _compare(manifest: Manifest, summaries: Mapping[str, Summary]) -> None:
    for part in manifest.parts:
        if part.name not in summaries:
            raise _damaged(f"the part {part.name!r} is missing")
        if summaries[part.name] != part:
            raise _damaged(f"the part {part.name!r} has changed")
    names = {part.name for part in manifest.parts}
    for name in summaries:
        if name not in {*names, _HEADER}:
            raise _damaged(f"the part {name!r} does not belong into it")


def _damaged(problem: str) -> HeddleError:
    return DamagedArchiveError(f"The archive is damaged, or is no backup of Heddle: {problem}.")
