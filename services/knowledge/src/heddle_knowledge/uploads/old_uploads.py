"""Deletes uploaded files that are older than their organisation stores files, and unused."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import structlog
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.contract.audit import Change
from heddle_runtime.errors import NotFoundError
from heddle_runtime.identity.service_credentials import ServiceCredentials
from heddle_runtime.rpc.organization_settings import Channel, account_stub
from heddle_runtime.serving.background import DAY

from heddle_knowledge.audit.recording import AuditOutbox
from heddle_knowledge.uploads.deletions import FileDeletions

log = structlog.get_logger(__name__)
ASSISTANTS = assistant_pb2.DESCRIPTOR.services_by_name["AssistantService"]
_BATCH = 500


@dataclass(frozen=True, slots=True)
class _File:
    person: str
    id: str
    organization: str


@dataclass(frozen=True, slots=True)
class OldUploads:
    """Finds and deletes them. Replicas may do so at once: each file is deleted by one of them."""

    deletions: FileDeletions
    audit: AuditOutbox
    assistants: Channel | None
    """None without the assistants service, which knows the limits: then all files stay."""
    credentials: ServiceCredentials

    async def delete(self) -> None:
        """Delete them, and what a crash left of other files.

        Raises:
            HeddleError: The assistants service or the store fails.
        """
        await self.deletions.queue.uploads.objects.sweep()
        if self.assistants is None:
            return
        request = account_pb2.ListRetentionRequest()
        accounts = account_stub(self.assistants)
        response = await self.credentials.call(accounts.ListRetention, request)
        limits = {it.organization: it.uploads_days for it in response.retention if it.uploads_days}
        old = await self._old(limits) if limits else []
        deleted: Counter[str] = Counter()
        for start in range(0, len(old), _BATCH):
            for file in await self._unused(old[start : start + _BATCH]):
                deleted[file.organization] += await self._deleted(file)
        for organization, count in sorted(deleted.items()):
            log.info("old uploads deleted", organization=organization, files=count)

    async def _old(self, limits: Mapping[str, int]) -> list[_File]:
        now = time.time()
        uploads_store, attachments = self.deletions.queue.uploads, self.deletions.queue.attachments
        keys = await uploads_store.keys()
        old = []
        for person in {person for person, _ in keys}:
            uploads = await uploads_store.all(person)
            # A person is of one organisation, which files of earlier versions do not name.
            organization = next((it.organization for it in uploads if it.organization), "")
            if days := limits.get(organization):
                latest = now - days * DAY
                old += [
                    _File(person, it.id, organization)
                    for it in uploads
                    if it.create_time.seconds < latest and not await attachments.everywhere(it.id)
                ]
        return old

    async def _unused(self, files: Sequence[_File]) -> list[_File]:
        stub = assistant_pb2_grpc.AssistantServiceStub(self.assistants)  # type: ignore[arg-type] # an in-process channel replaces a real one
        request = assistant_pb2.ListUsedFilesRequest(ids=[each.id for each in files])
        used = set((await self.credentials.call(stub.ListUsedFiles, request)).ids)
        return [each for each in files if each.id not in used]

    async def _deleted(self, file: _File) -> bool:
        try:
            if not await self.deletions.delete(file.person, file.id):
                return False
        except NotFoundError:  # its owner or another replica was faster
            return False
        with self.credentials.as_service():
            await self.audit.add(Change("file.expire", file.id, file.organization))
        return True
