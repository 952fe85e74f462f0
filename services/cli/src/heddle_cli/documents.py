"""The documents of files and folders."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MEDIA_TYPES = {
    ".csv": "text/csv",
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".htm": "text/html",
    ".html": "text/html",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".rst": "text/plain",
    ".text": "text/plain",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
}


@dataclass(frozen=True, slots=True)
class Document:
    """A file that is to become a document of a collection."""

    path: Path
    name: str
    """The file's path below the folder that was named, the same on every machine and run."""
    media_type: str
    """Empty if the ending does not tell; the service then judges."""


@dataclass(frozen=True, slots=True)
class Found:
    """What files and folders hold."""

    documents: list[Document]
    """Folders in the order of names, each file once."""
    skipped: list[str]
    """The names of files in folders whose endings tell no type that can be read."""


def documents(paths: Iterable[Path], *, recursive: bool) -> Found:
    """Return the documents of `paths`; a file that is named itself is one, whatever its ending."""
    found: dict[Path, Document] = {}
    skipped: dict[Path, str] = {}
    for path in paths:
        root = path if path.is_dir() else path.parent
        for file in _files(path, recursive=recursive):
            name = file.relative_to(root).as_posix()
            media_type = MEDIA_TYPES.get(file.suffix.lower(), "")
            if media_type or file == path:
                found.setdefault(file.resolve(), Document(file, name, media_type))
            else:
                skipped[file.resolve()] = name
    return Found(list(found.values()), [skipped[file] for file in skipped if file not in found])


def _files(path: Path, *, recursive: bool) -> Iterator[Path]:
    """Yield `path` itself if it is a file, else the files in it.

    Hidden files are left out, and links: a folder that others fill must not lead out of itself.
    """
    if not path.is_dir():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if not entry.is_dir():
            yield entry
        elif recursive:
            yield from _files(entry, recursive=True)
