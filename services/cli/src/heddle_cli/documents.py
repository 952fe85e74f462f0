"""The documents of files and folders."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from heddle_runtime.errors import InvalidRequestError

READABLE = frozenset({
    ".bat", ".c", ".cc", ".cpp", ".cs", ".css", ".csv", ".docx", ".eml", ".epub", ".go", ".h",
    ".hpp", ".htm", ".html", ".ipynb", ".java", ".jl", ".js", ".jsx", ".kt", ".lua", ".markdown",
    ".md", ".odp", ".ods", ".odt", ".pdf", ".php", ".pl", ".pptx", ".ps1", ".py", ".r", ".rb",
    ".rs", ".rst", ".rtf", ".scala", ".sh", ".sql", ".srt", ".swift", ".tex", ".text", ".ts",
    ".tsv", ".tsx", ".txt", ".vtt", ".vue", ".xhtml", ".xlsx",
})  # fmt: skip
"""Endings of the files that are taken from folders; the service detects their types."""
NO_TYPE = "is of no type that can be read"


@dataclass(frozen=True, slots=True)
class Document:
    """A file to add to a collection."""

    path: Path
    name: str
    """The file's path below the folder of the command line."""
    media_type: str = ""
    """As its server states it; empty: by the name and the bytes."""
    uri: str = ""
    """The address at which people can read it; empty if there is none."""


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of some paths."""

    documents: list[Document]
    """Ordered by name within a folder, each file once."""
    skipped: list[str]
    """Names of what was left out, each with the reason."""
    is_whole: bool = True
    """Whether these are all documents of the source, so that others are gone."""


def documents(paths: Iterable[Path], *, recursive: bool) -> Documents:
    """Return the documents of `paths`. A path of a file is a document, whatever its suffix.

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
            if file.suffix.lower() in READABLE or file == path:
                by_path.setdefault(file.resolve(), Document(file, name))
            else:
                skipped[file.resolve()] = f"{name}: {NO_TYPE}"
    unknown = [skipped[file] for file in skipped if file not in by_path]
    return Documents(list(by_path.values()), unknown)


def _files(folder: Path, *, recursive: bool) -> Iterator[Path]:
    """Yield the regular files in a folder, without hidden files.

    Links are skipped because they can lead out of the folder, and pipes because they may not end.
    """
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InvalidRequestError(f"The folder {folder} cannot be read: {reason}.") from None
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if entry.is_file(follow_symlinks=False):
            yield folder / entry.name
        elif recursive and entry.is_dir(follow_symlinks=False):
            yield from _files(folder / entry.name, recursive=True)
