"""The personal data of the tool service: workspaces, and the backups of their patches."""

import asyncio
import shutil
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.identity.people import Erasure, Person, content_of, files_below, place

from heddle_tools_service.providers.workspaces import STATE, folder_name


@dataclass(frozen=True, slots=True)
class WorkspaceData:
    """Lists, exports and erases a person's workspaces and backups. A `PersonalData`."""

    root: Path

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return a person's folders, each with the number of its files."""
        return [
            place(name, len(await asyncio.to_thread(list, files_below(it))), pb.TREATMENT_DELETED)
            for name, it in self._folders(person)
        ]

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield the files, without following links."""
        for name, folder in self._folders(person):
            for path in await asyncio.to_thread(list, files_below(folder)):
                if (data := await asyncio.to_thread(content_of, path)) is not None:
                    yield f"{name}/{path.relative_to(folder).as_posix()}", data

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Delete both folders of a person, or of all in an organisation."""
        if erasure.access_only:
            return []
        erased = await self.places(erasure.person)
        for _, folder in self._folders(erasure.person):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return erased

    def _folders(self, person: Person) -> list[tuple[str, Path]]:
        names = [folder_name(each) for each in (person.organization, person.email) if each]
        state = self.root.joinpath(STATE, *names)
        return [("workspaces", self.root.joinpath(*names)), ("workspace_backups", state)]
