"""Finds the uploaded files that assistants use."""

import re
from collections.abc import Iterator, Sequence

from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_assistants.catalog.folder import Contents
from heddle_assistants.repository.rows import Rows

_MAX_IDS = 1000
_ID = re.compile(r"file-[0-9a-f]{32}")


async def used_files(ids: Sequence[str], folder: Contents, rows: Rows) -> list[str]:
    """Return the identifiers that an assistant contains, in any member.

    Raises:
        InvalidRequestError: There are too many.
    """
    check_count(ids)
    used = {each for it in folder.files for each in _ids_in(str(it.stored.assistant))}
    async for document in rows.documents_with("file-"):
        used.update(_ids_in(document))
    return [each for each in ids if each in used]


def check_count(ids: Sequence[str]) -> None:
    """Refuse too many identifiers."""
    if len(ids) > _MAX_IDS:
        violation = Violation("ids", f"must be at most {_MAX_IDS}")
        raise InvalidRequestError("The request is not valid.", [violation])


def _ids_in(text: str) -> Iterator[str]:
    return (match.group() for match in _ID.finditer(text))
