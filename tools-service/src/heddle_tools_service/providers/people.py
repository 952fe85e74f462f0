"""What the tool service stores of people: workspaces, and the backups of their patches."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.people import Erasure, Person, place

from heddle_tools_service.providers.workspaces import STATE, folder_name

_FILES, _BACKUPS = "workspaces", "workspace_backups"


@dataclass(frozen=True, slots=True)
class WorkspaceData:
    """Lists, exports and erases them. Implements `PersonalData`."""

    root: Path
    """The folder of all workspaces."""

    async def places(self, person: Person) -> Sequence[pb.Place]:
        """Return how many files there are."""

        def counted() -> list[pb.Place]:
            return [
                place(name, sum(1 for _ in _files(folder)), pb.TREATMENT_DELETED)
                for name, folder in self._folders(person)
            ]

        return await asyncio.to_thread(counted)

    async def files(self, person: Person) -> AsyncGenerator[tuple[str, bytes]]:
        """Yield the files, without following links."""
        for name, folder in self._folders(person):
            for path in await asyncio.to_thread(lambda it: [*_files(it)], folder):
                data = await asyncio.to_thread(_content, path)
                if data is not None:
                    yield f"{name}/{path.relative_to(folder).as_posix()}", data

    async def erase(self, erasure: Erasure) -> Sequence[pb.Place]:
        """Delete both folders of a person."""
        if erasure.access_only:
            return []
        erased = await self.places(erasure.person)
        for _, folder in self._folders(erasure.person):
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
        return erased

    def _folders(self, person: Person) -> list[tuple[str, Path]]:
        names = folder_name(person.organization), folder_name(person.email)
        return [
            (_FILES, self.root.joinpath(*names)),
            (_BACKUPS, self.root.joinpath(STATE, *names)),
        ]


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            path = Path(parent, name)
            if not path.is_symlink() and path.is_file():
                yield path


def _content(path: Path) -> bytes | None:
    """Return what a file has; None if it was deleted or became a link meanwhile."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        return file.read()
