"""All assistants: those of the folder, which no call can change, and those of the database."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.identifiers import FILE_PREFIX, row_id
from heddle_runtime.contract.validation import UNKNOWN_MEMBER
from heddle_runtime.errors import (
    AlreadyExistsError,
    InvalidRequestError,
    PermissionDeniedError,
    Violation,
)
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import owns
from sqlalchemy import ColumnElement, false

from heddle_assistants.access import ASSISTANTS, may_edit, may_use
from heddle_assistants.catalog.folder import Contents, FolderAssistants
from heddle_assistants.catalog.summaries import summary_of_row, summary_of_stored
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.field_checks import require
from heddle_assistants.repository.reader import Reader
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import no_assistant
from heddle_assistants.store import StoredAssistant, candidates

_BATCH = 200
_ROWS: Mapping[int, Callable[[Identity], ColumnElement[bool]]] = {
    pb.SELECTION_UNSPECIFIED: ASSISTANTS.offered,
    pb.SELECTION_USABLE: ASSISTANTS.offered,
    pb.SELECTION_OWN: ASSISTANTS.owned,
    pb.SELECTION_MANAGED: ASSISTANTS.editable,
    pb.SELECTION_SHARED: ASSISTANTS.shared,
    pb.SELECTION_ALL: ASSISTANTS.readable,
    pb.SELECTION_EXAMPLES: lambda _: false(),
}
_ID = re.compile(r"file-[0-9a-f]{32}")


class Catalog:
    """Finds assistants for a caller.

    Assistants of the folder have identifiers of their own and hide none of the database.
    """

    def __init__(self, folder: FolderAssistants, rows: Rows, reader: Reader) -> None:
        self._folder = folder
        self._rows = rows
        self._reader = reader

    async def used_files(self, ids: Sequence[str]) -> list[str]:
        """Return the uploaded files that assistants use."""
        return await used_files(ids, await self._folder.contents(), self._rows)

    async def get(self, reference: str, identity: Identity) -> StoredAssistant:
        """Return the assistant that `identity` may use under `reference`.

        If several have the name, the caller's own is returned.

        Raises:
            InvalidRequestError: Several have that name, none of them the caller's.
            MalformedAssistantError: The stored assistant cannot be read.
            NewerFormatError: The stored assistant has a newer format.
            NotFoundError: There is none.
        """
        by_id, by_name = candidates(reference)
        stored = await self._by_id(by_id, identity) if by_id else None
        if stored is None and by_name:
            stored = await self._by_name(by_name, identity)
        if stored is None:
            raise no_assistant(reference)
        return stored

    async def in_folder(self, identifier: str) -> StoredAssistant | None:
        """Return an assistant of the folder, without a check of permissions.

        The identifier in its file is enough while no row of the database has it.
        """
        by_id = (await self._folder.contents()).by_id
        if stored := by_id.get(identifier):
            return stored
        stored = by_id.get(FILE_PREFIX + identifier)
        if stored is None or await self._rows.get(identifier) is not None:
            return None
        return stored

    async def editable(self, identifier: str, identity: Identity) -> Row:
        """Return the row of an assistant of the database.

        Raises:
            NotFoundError: There is none that `identity` may edit.
        """
        in_folder = await self.in_folder(identifier) is not None
        row = None if in_folder else await self._rows.get(identifier)
        if row is None or not may_edit(identity, row):
            raise no_assistant(identifier)
        return row

    async def taken(self) -> frozenset[str]:
        """Return the identifiers that no new assistant of the database should have.

        Clients may use them for assistants of the folder.
        """
        by_id = (await self._folder.contents()).by_id
        return frozenset(each.removeprefix(FILE_PREFIX) for each in by_id)

    async def name_check(self, identity: Identity) -> Callable[[str], None]:
        """Return a function that refuses a new name that would find an assistant of the folder.

        It raises `AlreadyExistsError` if there is one that `identity` may use.
        """
        by_name = (await self._folder.contents()).by_name

        def check(name: str) -> None:
            stored = by_name.get(name)
            if stored is not None and may_use(identity, stored):
                raise AlreadyExistsError(f"A file holds an assistant named {name!r} already.")

        return check

    async def refuse_folder(self, identifier: str, identity: Identity) -> None:
        """Refuse to change an assistant that comes from a file.

        Raises:
            NotFoundError: `identity` may not read the assistant.
            PermissionDeniedError: It may.
        """
        stored = await self.in_folder(identifier)
        if stored is None:
            return
        if not may_use(identity, stored):
            raise no_assistant(identifier)
        raise PermissionDeniedError(
            f"The assistant {identifier!r} comes from a file. Only the operator changes it there.",
            assistant=identifier,
        )

    async def listed(
        self, identity: Identity, selection: int, text: str, after: str, limit: int
    ) -> list[pb.AssistantSummary]:
        """Return assistants in the order of their ids, numbers before others.

        Args:
            identity: The caller.
            selection: The selection of the contract.
            text: Only those whose name or title contains this, in any case of letters.
            after: The id before the first; empty for the beginning.
            limit: The maximum number of results.
        """
        require(selection in _ROWS, "selection", UNKNOWN_MEMBER)
        contents = await self._folder.contents()
        summaries = [
            each
            for each in _of_folder(contents, identity, selection)
            if _place(each.id) > _place(after) and _matches(each, text)
        ]
        summaries += await self._of_database(_ROWS[selection](identity), text, after, limit)
        return sorted(summaries, key=lambda each: _place(each.id))[:limit]

    async def _by_id(self, identifier: str, identity: Identity) -> StoredAssistant | None:
        if stored := await self.in_folder(identifier):
            return stored if may_use(identity, stored) else None
        return await self._reader.assistant(identifier, identity)

    async def _by_name(self, name: str, identity: Identity) -> StoredAssistant | None:
        rows = await self._rows.named(name, identity)
        if len(rows) > 1:
            message = f"Several assistants are named {name[:200]!r}. Say which one by its id."
            raise InvalidRequestError(message, [Violation("reference", "names several assistants")])
        if rows:
            return await self._by_id(str(rows[0].id), identity)
        stored = (await self._folder.contents()).by_name.get(name)
        return stored if stored is not None and may_use(identity, stored) else None

    async def _of_database(
        self, where: ColumnElement[bool], text: str, after: str, limit: int
    ) -> list[pb.AssistantSummary]:
        summaries: list[pb.AssistantSummary] = []
        last = row_id(after) if after else 0
        # What the database returns may not match after all: small pages must not mean many reads.
        batch = max(limit, _BATCH) if text else limit
        while last is not None and len(summaries) < limit:
            rows = await self._rows.after(last, batch, where, text)
            summaries += (each for each in map(summary_of_row, rows) if _matches(each, text))
            last = rows[-1].id if len(rows) == batch else None
        return summaries


def _of_folder(
    contents: Contents, identity: Identity, selection: int
) -> Iterator[pb.AssistantSummary]:
    if selection in (pb.SELECTION_MANAGED, pb.SELECTION_SHARED):
        return  # no caller changes these, and they are shared with nobody
    for stored in contents.by_id.values():
        if selection == pb.SELECTION_EXAMPLES and not stored.example:
            continue
        own = selection in (pb.SELECTION_OWN, pb.SELECTION_ALL) and owns(identity, stored)
        offered = selection != pb.SELECTION_OWN and stored.published and may_use(identity, stored)
        if own or offered:
            yield summary_of_stored(stored)


def _place(identifier: str) -> tuple[int, int, str]:
    number = row_id(identifier)
    if number is not None:
        return 0, number, ""
    return (1, 0, identifier) if identifier else (-1, 0, "")


def _matches(summary: pb.AssistantSummary, text: str) -> bool:
    return any(text.lower() in each.lower() for each in (summary.name, summary.title))


async def used_files(ids: Sequence[str], folder: Contents, rows: Rows) -> list[str]:
    """Return the identifiers that an assistant contains, in any member."""
    used = {each for it in folder.by_id.values() for each in _ids_in(str(it.assistant))}
    async for document in rows.documents_with("file-"):
        used.update(_ids_in(document))
    return [each for each in ids if each in used]


def _ids_in(text: str) -> Iterator[str]:
    return (match.group() for match in _ID.finditer(text))
