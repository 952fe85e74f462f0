"""`heddle.assistant.v1.VersionService`."""

import asyncio
from dataclasses import dataclass
from typing import Any

from heddle.assistant.v1 import versions_pb2 as pb
from heddle.assistant.v1 import versions_pb2_grpc as pb_grpc
from heddle_conversion import convert_row
from heddle_runtime.contract.paging import cut, page_size
from heddle_runtime.errors import MalformedAssistantError
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.catalog.summaries import malformed
from heddle_assistants.database.paging import row_before
from heddle_assistants.field_checks import require
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.quotas import MEMBER as QUOTA
from heddle_assistants.repository.reader import contract
from heddle_assistants.repository.writer import Columns, Writer
from heddle_assistants.validation import Validation, messages
from heddle_assistants.versions.differences import differences
from heddle_assistants.versions.store import Version, Versions

_RESTORED = (
    *("name", "description", "system_prompt", "prompt_template"),
    *("rag_endpoint", "rag_top_k", "rag_collections"),
    *("pre_retrieval_endpoint", "post_retrieval_endpoint"),
)


@dataclass(eq=False, slots=True)
class VersionServicer(pb_grpc.VersionServiceServicer):
    """Translates between the contract and the stored versions."""

    versions: Versions
    catalog: Catalog
    writer: Writer
    validation: Validation

    async def ListVersions(
        self, request: pb.ListVersionsRequest, context: Context
    ) -> pb.ListVersionsResponse:
        """List the versions of an assistant."""
        size = page_size(request.page_size)
        before = row_before(request.page_token)
        newest = await self.versions.listed(request.id, caller().identity, before, size + 1)
        shown, token = cut(newest, size, lambda each: str(each.number))
        return pb.ListVersionsResponse(versions=shown, next_page_token=token)

    async def GetVersion(
        self, request: pb.GetVersionRequest, context: Context
    ) -> pb.GetVersionResponse:
        """Return one version."""
        version = await self._version(request.id, request.number)
        row = version.row
        past = pb.PastAssistant(published=row.published)
        try:
            document = convert_row(row.id, row.metadata, row.legacy).metadata
        except MalformedAssistantError as error:
            known = malformed(row, error)
            past.assistant.CopyFrom(known.assistant)
            past.malformed_metadata = known.malformed_metadata
        else:
            past.assistant.CopyFrom(contract(Stored(row, document)))
        return pb.GetVersionResponse(version=version.message, past=past)

    async def CompareVersions(
        self, request: pb.CompareVersionsRequest, context: Context
    ) -> pb.CompareVersionsResponse:
        """Return the differences between two versions."""
        before = await self._version(request.id, request.from_number, "from_number")
        after = await self.versions.get(request.id, caller().identity, request.to_number)
        return pb.CompareVersionsResponse(
            from_version=before.message,
            to_version=after.message,
            # Long texts take a while to compare.
            differences=await asyncio.to_thread(differences, before.row, after.row),
        )

    async def RestoreVersion(
        self, request: pb.RestoreVersionRequest, context: Context
    ) -> pb.RestoreVersionResponse:
        """Restore a version of an assistant."""
        identity = caller().identity
        await self.catalog.refuse_folder(request.id, identity)
        version = (await self._version(request.id, request.number)).row
        document = convert_row(version.id, version.metadata, version.legacy).metadata
        findings = await self.validation.check(contract(Stored(version, document)), None, context)
        findings.accept()
        check_name = await self.catalog.name_check(identity)

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            if version.name != stored.row.name:
                check_name(version.name)
            columns = {name: getattr(version, name) for name in _RESTORED}
            return _with_quota_of(document, stored.document), columns

        stored = await self.writer.edit(
            request.id, identity, request.etag, edit, repairs=True, restored=request.number
        )
        return pb.RestoreVersionResponse(
            assistant=contract(stored),
            etag=stored.row.etag,
            published=stored.row.published,
            warnings=messages(findings.warnings),
        )

    async def _version(self, identifier: str, number: int, field: str = "number") -> Version:
        require(number > 0, field, "must be above 0")
        return await self.versions.get(identifier, caller().identity, number)


def _with_quota_of(document: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    others = {name: value for name, value in document.items() if name != QUOTA}
    return others | ({QUOTA: stored[QUOTA]} if QUOTA in stored else {})
