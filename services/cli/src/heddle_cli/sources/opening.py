"""Brings the documents of a source into a temporary folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from heddle_runtime.errors import InvalidRequestError

from heddle_cli.documents import Document, Documents, documents
from heddle_cli.sources.fetching import Fetched
from heddle_cli.sources.moodle import course_files
from heddle_cli.sources.repository import cloned
from heddle_cli.sources.website import pages_of

REPOSITORY, COURSE = "git+", "moodle+"
"""How the addresses of repositories and courses begin, before that of their server."""


def is_source(text: str) -> bool:
    """Return whether an argument is the address of a source, not a path."""
    return text.startswith(("http://", "https://", REPOSITORY, COURSE))


@contextmanager
def opened(source: str, depth: int, token: str) -> Iterator[Documents]:
    """Yield the documents of a source, whose files stay until the block ends.

    Args:
        source: `https://…` of a web site, `git+URL#BRANCH` of a repository, or
            `moodle+URL#COURSE` of a course.
        depth: How many links may lead to a page from the first one.
        token: Of Moodle's web services.

    Raises:
        InvalidRequestError: The source cannot be read.
    """
    with TemporaryDirectory(prefix="heddle-source-") as name:
        folder = Path(name)
        if source.startswith(REPOSITORY):
            cloned(source.removeprefix(REPOSITORY), folder)
            yield documents([folder], recursive=True)
        elif source.startswith(COURSE):
            yield _stored(folder, course_files(source.removeprefix(COURSE), token))
        else:
            yield _stored(folder, pages_of(source, depth))


def _stored(folder: Path, fetched: Iterator[Fetched]) -> Documents:
    """Store what was fetched, one file for each document."""
    read: dict[str, Document] = {}
    skipped: list[str] = []
    is_whole = True
    for number, each in enumerate(fetched):
        if each.problem:
            skipped.append(f"{each.name}: {each.problem}")
            is_whole = is_whole and not each.counts
            continue
        path = folder / str(number)
        path.write_bytes(each.data)
        read[each.name] = Document(path, each.name, each.media_type, each.uri)
    if not read:
        reason = f": {skipped[0]}" if skipped else ""
        raise InvalidRequestError(f"The source has no document that can be read{reason}.")
    return Documents(list(read.values()), skipped, is_whole=is_whole)
