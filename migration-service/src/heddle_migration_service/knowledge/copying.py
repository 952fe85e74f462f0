"""Copies all collections, with the files, owners and identifiers that they have in LAMB."""

import asyncio
import hashlib
import re
from collections.abc import AsyncGenerator, Collection, Sequence

import grpc
from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle.migration.v1 import migration_pb2 as pb
from heddle_runtime.errors import (
    AlreadyExistsError,
    HeddleError,
    NotSetUpError,
)

from heddle_migration_service.knowledge.file_copy import CopiedFile, FileCopy
from heddle_migration_service.knowledge.libraries import DOCUMENTS, LIBRARIES, source_of
from heddle_migration_service.knowledge.moves import COLLECTIONS, LEFT, SERVERS, moved, servers
from heddle_migration_service.knowledge.owners_files import LAMB_ID, OwnersFiles
from heddle_migration_service.knowledge.reading import LambFile, LambReader
from heddle_migration_service.knowledge.sources import Source, Sources, refusal
from heddle_migration_service.lamb.knowledge_registry import LambRegistry, Library

FILES = "kb_files"
SERVER = "lamb_server"
"""The metadata with the address of the server that a collection comes from."""
_AT_ONCE = 4
_MAX_NAME, _MAX_NOTE, _DIGITS = 48, 512, 12
_COPIED = files_pb2.ATTACHMENT_STATUS_COMPLETED
_NOT_COPIED = {
    "failed": "Files that LAMB could not read.",
    "cancelled": "Files whose ingestion was cancelled in LAMB.",
    "deleted": "Files that are deleted in LAMB.",
}
Responses = AsyncGenerator[pb.RunMigrationResponse]


class KnowledgeCopy:
    """Copies collections. It may run any number of times: what is there is not copied again."""

    def __init__(
        self, knowledge: grpc.aio.Channel, reader: LambReader, library_reader: LambReader
    ) -> None:
        """Take the way to the knowledge service, and what reads LAMB's servers."""
        self._knowledge = knowledge
        self._reader = reader
        self._library_reader = library_reader

    async def run(
        self,
        options: pb.KnowledgeImport,
        registry: LambRegistry,
        left: list[pb.LeftBehind],
        *,
        dry_run: bool,
    ) -> Responses:
        """Copy what the knowledge service does not have yet.

        Args:
            options: How new collections treat documents.
            registry: What LAMB's database says about collections.
            left: Gets what is not copied and not refused.
            dry_run: Count and report, write nothing.

        Raises:
            NotSetUpError: There is no knowledge-base server, and no library.
            HeddleError: The knowledge service does not answer.
        """
        if not (registry.servers or registry.libraries):
            raise NotSetUpError(
                "LAMB's database names no knowledge-base server. Set HEDDLE_MIGRATION_LAMB_KB_URL "
                "to the address of the server, and HEDDLE_MIGRATION_LAMB_KB_TOKEN to its key."
            )
        tables = COLLECTIONS, FILES
        run = _Run(self._knowledge, self._reader, options, tables, dry_run=dry_run)
        run.moved = await moved(self._reader, registry)
        findings = list(servers(registry, run.moved))
        yield pb.RunMigrationResponse(
            table=SERVERS,
            progress=pb.Progress(total=len(findings), unchanged=len(findings)),
            findings=findings,
        )
        yield pb.RunMigrationResponse(table=COLLECTIONS, progress=run.collections)
        listing = Sources(self._reader, registry, run.collections)
        sources: list[Source] = []
        for server in dict.fromkeys(registry.servers.values()):
            listed, findings = await listing.listed(server)
            sources += listed
            yield pb.RunMigrationResponse(
                table=COLLECTIONS, progress=run.collections, findings=findings
            )
        yield pb.RunMigrationResponse(
            table=COLLECTIONS, progress=run.collections, findings=listing.missing()
        )
        for source in sources:
            async for response in run.copy(source):
                yield response
        if registry.libraries:
            tables, reader = (LIBRARIES, DOCUMENTS), self._library_reader
            copied = _Run(self._knowledge, reader, options, tables, dry_run=dry_run)
            for library in registry.libraries:
                async for response in copied.copy_library(library):
                    yield response
            left[:] = [it for it in left if it.table not in tables]
            left += copied.left()
        left += run.left()


class _Run:
    """One run over all collections."""

    def __init__(
        self,
        knowledge: grpc.aio.Channel,
        reader: LambReader,
        options: pb.KnowledgeImport,
        tables: tuple[str, str],
        *,
        dry_run: bool,
    ) -> None:
        self._channel = knowledge
        self._collection_table, self._file_table = tables
        self._reader = reader
        self._options = options
        self._dry_run = dry_run
        self._not_copied = dict.fromkeys(_NOT_COPIED, 0)
        self.moved: Collection[str] = ()
        """The organisations that store new collections in Heddle."""
        self.collections = pb.Progress()
        self.files = pb.Progress()

    async def copy_library(self, library: Library) -> Responses:
        """Copy a library with its documents."""
        self.collections.total += 1
        try:
            source = source_of(library)
        except HeddleError as error:
            self.collections.refused += 1
            finding = refusal(library.identifier, library.name, error)
            yield self._of_collections([finding])
            return
        async for response in self.copy(source):
            yield response

    async def copy(self, source: Source) -> Responses:
        """Copy one collection with its files."""
        files = OwnersFiles(self._channel, source.owner)
        name = source.title
        try:
            existing = await files.imported(source.lamb.id)
            lambs = await self._lambs_files(source)
            if existing is not None and existing.metadata.get(SERVER) != source.server.url:
                raise AlreadyExistsError(
                    "Its organisation has a collection with this identifier from another server."
                )
            collection = existing
            if collection is None and not self._dry_run:
                collection = await self._created(files, source)
        except HeddleError as error:
            self.collections.refused += 1
            yield self._of_collections([refusal(source.lamb.id, name, error)])
            return
        self.collections.changed += existing is None
        self.collections.unchanged += existing is not None
        self.files.total += len(lambs)
        is_left = existing is None and self._dry_run and source.owner.organization in self.moved
        left = pb.Finding(id=source.lamb.id, name=name, notes=[LEFT])
        yield self._of_collections([left] if is_left else [])
        former = await files.attached(collection.id) if collection else {}
        if collection is None or self._dry_run:
            present = sum(each.id in former for each in lambs)
            self.files.changed += len(lambs) - present
            self.files.unchanged += present
            yield self._of_files([])
            return
        copy = FileCopy(self._reader, source.server, files, collection.id)
        before = self.files.changed
        for start in range(0, len(lambs), _AT_ONCE):
            part = lambs[start : start + _AT_ONCE]
            results = await asyncio.gather(*(_copied(copy, it, former.get(it.id)) for it in part))
            findings = [
                self._counted(source, each, result, former.get(each.id))
                for each, result in zip(part, results, strict=True)
            ]
            yield self._of_files([each for each in findings if each is not None])
        if existing is None or self.files.changed > before:
            note = await self._checked(files, collection.id, lambs)
            yield self._of_collections([pb.Finding(id=source.lamb.id, name=name, notes=[note])])

    def left(self) -> list[pb.LeftBehind]:
        """Return which files were not to be copied."""
        return [
            pb.LeftBehind(table=self._file_table, rows=rows, meaning=_NOT_COPIED[status])
            for status, rows in self._not_copied.items()
            if rows
        ]

    async def _lambs_files(self, source: Source) -> list[LambFile]:
        """Return the files that are to be copied, and count the others."""
        files = await self._reader.files(source.server, source.lamb.id)
        for each in files:
            if each.status in self._not_copied:
                self._not_copied[each.status] += 1
        return [each for each in files if each.status not in self._not_copied]

    async def _created(self, files: OwnersFiles, source: Source) -> knowledge_pb2.Collection:
        lamb = source.lamb
        title = source.title
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", title).strip("_.-")[:_MAX_NAME] or "collection"
        digest = hashlib.sha256(f"{source.server.url}\n{lamb.id}".encode()).hexdigest()
        metadata = {
            "lamb_owner": lamb.owner or str(source.owner.number),
            "lamb_description": (lamb.description or "")[:_MAX_NOTE],
            "lamb_visibility": lamb.visibility or "",
            SERVER: source.server.url[:_MAX_NOTE],
        }
        collection = knowledge_pb2.Collection(
            name=f"{plain}-{digest[:_DIGITS]}",
            title=title,
            settings={LAMB_ID: lamb.id} | ({} if source.sharing else {"shares": "registry"}),
            sharing=source.sharing,
            metadata={key: value for key, value in metadata.items() if value},
            language=self._options.language,
            embedding_model=self._options.embedding_model,
        )
        try:
            return await files.create(collection)
        except AlreadyExistsError:  # another import was faster
            if existing := await files.imported(lamb.id):
                return existing
            raise

    def _counted(
        self,
        source: Source,
        file: LambFile,
        result: CopiedFile | HeddleError,
        former: files_pb2.AttachedFile | None,
    ) -> pb.Finding | None:
        """Count a file; return the finding about it, if there is one."""
        identifier, name = f"{source.lamb.id}/{file.id}", file.original_filename
        if isinstance(result, HeddleError):
            self.files.refused += 1
            return refusal(identifier, name, result)
        if former is not None and former.status == _COPIED:
            self.files.unchanged += 1
        else:
            self.files.changed += 1
        return pb.Finding(id=identifier, name=name, notes=[result.note]) if result.note else None

    async def _checked(self, files: OwnersFiles, collection: str, lambs: Sequence[LambFile]) -> str:
        """Return what is in a collection, counted anew, beside what LAMB has."""
        attached = await files.attached(collection)
        copied = [each for it in lambs if (each := attached.get(it.id)) and each.status == _COPIED]
        documents = [await files.document(each) for each in copied]
        passages = sum(each.passage_count for each in documents)
        theirs = sum(each.document_count for each in lambs)
        return (
            f"{len(copied)} of {len(lambs)} files are in the collection, with {passages} passages; "
            f"LAMB has {theirs} passages of them."
        )

    def _of_collections(self, findings: list[pb.Finding]) -> pb.RunMigrationResponse:
        return pb.RunMigrationResponse(
            table=self._collection_table, progress=self.collections, findings=findings
        )

    def _of_files(self, findings: list[pb.Finding]) -> pb.RunMigrationResponse:
        return pb.RunMigrationResponse(
            table=self._file_table, progress=self.files, findings=findings
        )


async def _copied(
    copy: FileCopy, file: LambFile, former: files_pb2.AttachedFile | None
) -> CopiedFile | HeddleError:
    if file.status != "completed":
        return HeddleError(f"Its status in LAMB is {file.status[:50]!r}. Import again later.")
    try:
        return await copy.run(file, former)
    except HeddleError as error:
        return error
