"""Holds the files of a folder in memory, with what was compressed when they were built."""

import hashlib
import mimetypes
from dataclasses import dataclass, field
from pathlib import Path

_ENCODINGS = {"br": ".br", "gzip": ".gz"}
"""The endings of precompressed files by content coding, the preferred one first."""


@dataclass(frozen=True, slots=True)
class StaticFile:
    """A file."""

    media_type: str
    etag: str
    contents: dict[str, bytes]
    """The contents by content coding; `identity` is always there."""

    def encoded(self, accepted: str) -> tuple[str, bytes]:
        """Return the preferred coding of those in `Accept-Encoding`, and the content in it."""
        weights = dict(map(_weight, accepted.split(",")))
        for coding in _ENCODINGS:
            if coding in self.contents and weights.get(coding, weights.get("*", 0.0)) > 0:
                return coding, self.contents[coding]
        return "identity", self.contents["identity"]


@dataclass(slots=True)
class StaticFiles:
    """The files of a folder by their paths. A path that is none of theirs reads no file."""

    folder: Path
    main: str
    """The file that is written last: its time says whether the files are new."""
    _written: int = 0
    _files: dict[str, StaticFile] = field(default_factory=dict)

    def update(self) -> None:
        """Read the files if they are new.

        Raises:
            OSError: There are none.
        """
        written = (self.folder / self.main).stat().st_mtime_ns
        if written != self._written:
            self._files, self._written = _read(self.folder), written

    def get(self, path: str) -> StaticFile | None:
        """Return a file, None if there is none at the path."""
        return self._files.get(path)


def _read(folder: Path) -> dict[str, StaticFile]:
    endings = tuple(_ENCODINGS.values())
    files = [each for each in folder.rglob("*") if each.is_file() and each.suffix not in endings]
    return {file.relative_to(folder).as_posix(): _file(file) for file in files}


def _file(file: Path) -> StaticFile:
    content = file.read_bytes()
    contents = {"identity": content}
    for coding, ending in _ENCODINGS.items():
        compressed = file.with_name(file.name + ending)
        if compressed.is_file():
            contents[coding] = compressed.read_bytes()
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    if media_type.startswith("text/"):
        media_type += "; charset=utf-8"
    return StaticFile(media_type, hashlib.sha256(content).hexdigest()[:32], contents)


def _weight(preference: str) -> tuple[str, float]:
    """Return a coding and its weight, as in `gzip;q=0.5`; an invalid weight counts as 0."""
    coding, _, parameter = preference.partition(";")
    name, _, value = parameter.strip().partition("=")
    try:
        weight = float(value) if name.strip().lower() == "q" else 1.0
    except ValueError:
        weight = 0.0
    return coding.strip().lower(), weight
