"""The documents of files and folders."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

MEDIA_TYPES = {
    ".htm": "text/html",
    ".html": "text/html",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".pdf": "application/pdf",
    ".rst": "text/plain",
    ".text": "text/plain",
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


def documents(paths: Iterable[Path], *, recursive: bool) -> list[Document]:
    """Return the documents of `paths`, folders in the order of names, each file once."""
    found: dict[Path, Document] = {}
    for path in paths:
        root = path if path.is_dir() else path.parent
        for file in _files(path, recursive=recursive):
            name = file.relative_to(root).as_posix()
            document = Document(file, name, MEDIA_TYPES.get(file.suffix.lower(), ""))
            found.setdefault(file.resolve(), document)
    return list(found.values())


def _files(path: Path, *, recursive: bool) -> Iterator[Path]:
    """Yield `path` itself if it is a file, else the readable files in it.

    Hidden files are left out, and links: a folder that others fill must not lead out of itself.
    """
    if not path.is_dir():
        yield path
        return
    for entry in sorted(path.iterdir()):
        if entry.name.startswith(".") or entry.is_symlink():
            continue
        if entry.is_dir():
            if recursive:
                yield from _files(entry, recursive=True)
        elif entry.suffix.lower() in MEDIA_TYPES:
            yield entry
