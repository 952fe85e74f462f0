"""What there is to export of an assistant, wherever it is kept."""

from functools import partial

from heddle_conversion import LegacyColumns, from_contract
from heddle_runtime.identity import Identity
from heddle_runtime.permissions import may_change

from heddle_assistants.assistants.catalog import Catalog
from heddle_assistants.exchange import Exportable
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.reader import Reader
from heddle_assistants.repository.rows import Rows
from heddle_assistants.repository.writer import no_assistant
from heddle_assistants.store import StoredAssistant


class Exporter:
    """Collects what an export shows."""

    def __init__(self, catalog: Catalog, rows: Rows, reader: Reader) -> None:
        self._catalog = catalog
        self._rows = rows
        self._reader = reader

    async def exportable(self, identifier: str, identity: Identity) -> Exportable:
        """Return what there is to export.

        Raises:
            MalformedAssistantError: What is kept cannot be understood.
            NewerFormatError: What is kept is of a newer format.
            NotFoundError: There is none that `identity` may change.
        """
        if folder_assistant := await self._catalog.in_folder(identifier):
            if may_change(identity, folder_assistant):
                return _of_folder(folder_assistant)
        elif stored := await self._reader.stored(identifier, partial(may_change, identity)):
            return _of_row(stored, await self._rows.owner_number(stored.row.owner))
        raise no_assistant(identifier)


def _of_folder(folder_assistant: StoredAssistant) -> Exportable:
    assistant = folder_assistant.assistant
    return Exportable(
        name=assistant.name,
        description=assistant.description,
        system_prompt=assistant.system_prompt,
        prompt_template=assistant.prompt_template,
        document=from_contract(assistant),
        columns=LegacyColumns(),
        owner=assistant.owner,
    )


def _of_row(stored: Stored, owner_number: int | None) -> Exportable:
    row = stored.row
    return Exportable(
        # LAMB's names tell who made an assistant.
        name=row.name.removeprefix(f"{owner_number}_"),
        description=row.description,
        system_prompt=row.system_prompt,
        prompt_template=row.prompt_template,
        document=stored.document,
        columns=row.legacy,
        owner=row.owner,
    )
