"""Deletes uploaded files everywhere. A deletion is recorded first, and completed after a crash.

From the record on, callers do not find the file, and its ingestions fail. A call that attaches the
file at the same time looks for it once more at its end, so no collection keeps it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle_knowledge.uploads.ingestion_queue import IngestionQueue

if TYPE_CHECKING:  # loads the engine
    from heddle_knowledge.store import KnowledgeStore


@dataclass(frozen=True, slots=True)
class FileDeletions:
    """Deletes files with their passages, pages and names in all collections."""

    store: "Callable[[], Awaitable[KnowledgeStore]]"
    queue: IngestionQueue

    async def delete(self, person: str, identifier: str) -> bool:
        """Delete a file of a person's; say whether this call has begun that.

        Raises:
            NotFoundError: There is none.
            HeddleError: It fails, and is completed by the next call or later.
        """
        async with self.queue.alone(identifier):
            return await self.delete_alone(person, identifier)

    async def delete_alone(self, person: str, identifier: str) -> bool:
        """Do the same, for a caller that holds `IngestionQueue.alone` for the file."""
        is_first = await self.queue.uploads.mark_deleted(person, identifier)
        await self._complete(person, identifier)
        return is_first

    async def complete(self) -> None:
        """Complete what a crash or an error broke off, also of deleted collections.

        Raises:
            HeddleError: It fails.
        """
        await self.queue.complete_detachments()
        deleted = self.queue.uploads.deleted
        for person, identifier in await deleted():
            async with self.queue.alone(identifier):
                # Otherwise its owner has uploaded it again.
                if (person, identifier) in await deleted():
                    await self._complete(person, identifier)
        # The collections are listed later, so that a new one is not taken for one that is gone.
        if with_files := await self.queue.attachments.collections():
            known = await (await self.store()).collections.all()
            for collection in with_files - set(known):
                await self.queue.forget_all(collection)
        await self.queue.database.clean_up()

    async def _complete(self, person: str, identifier: str) -> None:
        for file in await self.queue.attachments.everywhere(identifier):
            if file.person == person:  # the owner of a collection that was handed over has a copy
                await self.queue.detach(file)
        await self.queue.uploads.delete(person, identifier)
