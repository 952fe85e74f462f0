"""The documents of files and folders."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heddle_runtime.errors import InvalidRequestError

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
class Documents:
    """What files and folders hold."""

    documents: list[Document]
    """Folders in the order of names, each file once."""
    skipped: list[str]
    """The names of files in folders whose endings tell no type that can be read."""


def documents(paths: Iterable[Path], *, recursive: bool) -> Documents:
    """Return the documents of `paths`; a file that is named itself is one, whatever its ending.

    Raises:
        InvalidRequestError: A folder cannot be read.
    """
    by_path: dict[Path, Document] = {}
    skipped: dict[Path, str] = {}
    for path in paths:
        is_folder = path.is_dir()
        root = path if is_folder else path.parent
        for file in _files(path, recursive=recursive) if is_folder else [path]:
            name = file.relative_to(root).as_posix()
            media_type = MEDIA_TYPES.get(file.suffix.lower(), "")
            if media_type or file == path:
                by_path.setdefault(file.resolve(), Document(file, name, media_type))
            else:
                skipped[file.resolve()] = name
    unread = [skipped[file] for file in skipped if file not in by_path]
    return Documents(list(by_path.values()), unread)


def _files(folder: Path, *, recursive: bool) -> Iterator[Path]:
    """Yield the files in a folder.

    Hidden files are left out, and links: a folder that others fill must not lead out of itself.
    So is what is no file, like a pipe, which could be read for ever.
    """
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidRequestError(
            f"The folder {folder} cannot be read: {reason}. Mend it, or name others."
        ) from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            yield folder / entry.name
        elif recursive and entry.is_dir(follow_symlinks=False):
            yield from _files(folder / entry.name, recursive=True)
