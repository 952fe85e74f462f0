"""Errors of a workspace."""

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

Kind = Literal[
    "content_mismatch",
    "invalid_range",
    "overlap",
    "path_denied",
    "not_found",
    "not_text",
    "invalid_arguments",
    "conflict",
    "storage",
]
_DENIED = {
    errno.ELOOP: "it is a symbolic link, or leads through one",
    errno.ENAMETOOLONG: "the name is too long",
    errno.EISDIR: "it is a folder",
    errno.ENXIO: "it is not a regular file",
    errno.EACCES: "the service may not open it",
    errno.EPERM: "the service may not open it",
}


class WorkspaceError(Exception):
    """A refusal. The message, for the model, names the file and the remedy."""

    def __init__(self, kind: Kind, message: str, problems: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.kind: Kind = kind
        self.problems = tuple(problems) or (message,)
        """All problems that were found; the message is the first."""


def first_of(refusals: Sequence[WorkspaceError]) -> WorkspaceError:
    """Return one refusal that stands for several."""
    problems = [problem for refusal in refusals for problem in refusal.problems]
    message = problems[0]
    if more := len(problems) - 1:
        message += f"\nAnd {more} more {'problem' if more == 1 else 'problems'}."
    return WorkspaceError(refusals[0].kind, message, problems)


@contextmanager
def about(path: str) -> Iterator[None]:
    """Convert errors of the operating system to errors about `path`."""
    try:
        yield
    except OSError as error:
        number = error.errno or 0
        if number == errno.ENOENT:
            raise WorkspaceError("not_found", f"There is no file {path!r}.") from error
        if number == errno.ENOTDIR:
            message = f"There is no file {path!r}: a part of its path is a file, not a folder."
            raise WorkspaceError("not_found", message) from error
        if number in _DENIED:
            raise WorkspaceError(
                "path_denied", f"{path!r} is refused: {_DENIED[number]}."
            ) from error
        message = f"{path!r} cannot be read or written: {os.strerror(number)}."
        raise WorkspaceError("storage", message) from error
