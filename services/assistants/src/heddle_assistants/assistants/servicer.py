"""`heddle.assistant.v1.AssistantService`."""

import time
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1 import assistant_pb2_grpc as pb_grpc
from heddle_conversion.processors import current_connector
from heddle_runtime.contract.paging import page_size, read_token, write_token
from heddle_runtime.errors import (
    AlreadyExistsError,
    MalformedAssistantError,
    NotFoundError,
)
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import DEFAULT_ORGANIZATION, Identity, home
from heddle_runtime.identity.permissions import require_service
from heddle_runtime.storage.database.engine import Database

from heddle_assistants.access import may_see
from heddle_assistants.accounts.organizations import organization_reader
from heddle_assistants.accounts.resolution import output_hosts, renamed
from heddle_assistants.accounts.sign_in.limits import uses
from heddle_assistants.catalog.all_assistants import Catalog
from heddle_assistants.catalog.checking import document_of
from heddle_assistants.catalog.summaries import malformed, outline
from heddle_assistants.database.assistant_row import Row
from heddle_assistants.database.paging import check_length, fitting
from heddle_assistants.field_checks import (
    deprecated_connector,
    name_violations,
    refuse_nul,
    require,
)
from heddle_assistants.repository.deleting import Deletions, delete
from heddle_assistants.repository.migrating import Stored
from heddle_assistants.repository.reader import Reader, contract
from heddle_assistants.repository.writer import Columns, Writer
from heddle_assistants.store import StoredAssistant
from heddle_assistants.usage.reports import Budgets
from heddle_assistants.validation import Findings, Validation, messages


class AssistantServicer(pb_grpc.AssistantServiceServicer):
    """Translates between the contract and the stores of assistants."""

    def __init__(
        self,
        catalog: Catalog,
        reader: Reader,
        writer: Writer,
        budgets: Budgets,
        validation: Validation,
        database: Database,
        deletions: Deletions,
    ) -> None:
        self._catalog = catalog
        self._reader = reader
        self._writer = writer
        self._validation = validation
        self._budgets = budgets
        self._organization = organization_reader(database)
        self._database = database
        self._deletions = deletions

    async def GetAssistant(
        self, request: pb.GetAssistantRequest, context: Context
    ) -> pb.GetAssistantResponse:
        """Return one assistant. A forbidden one gets the same error as a missing one."""
        identity = user = caller().identity
        if request.HasField("user"):
            require_service(identity)
            sent = request.user
            user = Identity(sent.subject, sent.organization, tuple(sent.scopes))
        try:
            stored = await self._get(request.reference, user)
        except MalformedAssistantError as error:
            identifier = error.metadata.get("assistant", "")
            row = (
                None
                if request.HasField("user")
                else await self._reader.malformed(identifier, identity)
            )
            if row is None:
                raise
            return malformed(row, error)
        response = pb.GetAssistantResponse(
            etag=stored.etag,
            published=stored.published,
            readable=_may_see(user, stored),
            read_only=await self._catalog.in_folder(stored.assistant.id) is stored,
        )
        if request.HasField("user"):
            response.organization_output_hosts = await self._hosts_of(stored.organization)
        if _may_see(identity, stored):
            response.assistant.CopyFrom(stored.assistant)
            response.warnings.extend(messages(stored.warnings))
            if (quota := await self._budgets.of(stored.assistant)) is not None:
                response.quota.CopyFrom(quota)
        else:
            response.assistant.CopyFrom(outline(stored.assistant))
        return response

    async def ListAssistants(
        self, request: pb.ListAssistantsRequest, context: Context
    ) -> pb.ListAssistantsResponse:
        """List assistants."""
        check_length(request.text)
        size = page_size(request.page_size)
        after = read_token(request.page_token)
        summaries = await self._catalog.listed(
            caller().identity, request.selection, request.text, after, size + 1
        )
        shown = fitting(summaries[:size])
        token = write_token(shown[-1].id) if len(summaries) > len(shown) else ""
        return pb.ListAssistantsResponse(assistants=shown, next_page_token=token)

    async def CreateAssistant(
        self, request: pb.CreateAssistantRequest, context: Context
    ) -> pb.CreateAssistantResponse:
        """Store a new assistant."""
        assistant, identity = request.assistant, caller().identity
        document, findings = await self._checked(assistant, None, context)
        wrong_name = name_violations(assistant.name, "assistant.name")
        if request.imported and document is not None and not wrong_name:
            findings.accept()
        findings.violations[:0] = wrong_name
        if request.validate_only:
            return pb.CreateAssistantResponse(
                warnings=messages(findings.warnings), violations=messages(findings.violations)
            )
        findings.refuse()
        assert document is not None  # noqa: S101 - otherwise there are violations
        columns = _columns(assistant) | {"owner": assistant.owner}
        if request.published:
            columns |= {"published": True, "published_at": int(time.time())}
        (await self._catalog.name_check(identity))(assistant.name)
        taken = await self._catalog.taken()
        stored = await self._writer.insert(document, columns, identity, taken)
        return pb.CreateAssistantResponse(
            assistant=contract(stored),
            etag=stored.row.etag,
            warnings=messages(findings.warnings),
        )

    async def UpdateAssistant(
        self, request: pb.UpdateAssistantRequest, context: Context
    ) -> pb.UpdateAssistantResponse:
        """Replace an assistant."""
        assistant, identity = request.assistant, caller().identity
        require(bool(assistant.id), "assistant.id", "is required")
        await self._catalog.refuse_folder(assistant.id, identity)
        row, before = await self._reader.before_edit(assistant.id, identity)
        document, findings = await self._checked(assistant, before, context)
        if assistant.name != row.name:
            findings.violations[:0] = name_violations(assistant.name, "assistant.name")
        if request.validate_only:
            return pb.UpdateAssistantResponse(
                warnings=messages(findings.warnings), violations=messages(findings.violations)
            )
        findings.refuse()
        assert document is not None  # noqa: S101 - otherwise there are violations
        check_name = await self._catalog.name_check(identity)

        def edit(stored: Stored) -> tuple[dict[str, Any], Columns]:
            if assistant.name != stored.row.name:
                check_name(assistant.name)
            return document, _columns(assistant)

        stored = await self._writer.edit(assistant.id, identity, request.etag, edit, repairs=True)
        return pb.UpdateAssistantResponse(
            assistant=contract(stored),
            etag=stored.row.etag,
            published=stored.row.published,
            warnings=messages(findings.warnings),
        )

    async def DeleteAssistant(
        self, request: pb.DeleteAssistantRequest, context: Context
    ) -> pb.DeleteAssistantResponse:
        """Delete an assistant."""
        await self._catalog.refuse_folder(request.id, caller().identity)
        await delete(self._writer, request.id, caller().identity, request.etag)
        return pb.DeleteAssistantResponse()

    async def UndeleteAssistant(
        self, request: pb.UndeleteAssistantRequest, context: Context
    ) -> pb.UndeleteAssistantResponse:
        """Undo a deletion."""
        await self._catalog.refuse_folder(request.id, caller().identity)
        row = await self._deletions.undo(request.id, caller().identity)
        return pb.UndeleteAssistantResponse(etag=row.etag)

    async def PublishAssistant(
        self, request: pb.PublishAssistantRequest, context: Context
    ) -> pb.PublishAssistantResponse:
        """Publish an assistant in its organisation, or withdraw it."""
        await self._catalog.refuse_folder(request.id, caller().identity)
        group = _group(request)

        def publish(row: Row) -> Columns:
            at = (row.published_at or int(time.time())) if request.published else None
            return {"published": request.published, "published_at": at, **group}

        action = "publish" if request.published else "unpublish"
        row = await self._writer.change(request.id, caller().identity, "", publish, action=action)
        return pb.PublishAssistantResponse(
            etag=row.etag, id=request.id, published=request.published
        )

    async def ListUsedFiles(
        self, request: pb.ListUsedFilesRequest, context: Context
    ) -> pb.ListUsedFilesResponse:
        """List the uploaded files that assistants use."""
        require_service(caller().identity)
        return pb.ListUsedFilesResponse(ids=await self._catalog.used_files(request.ids))

    async def UseConfirmation(
        self, request: pb.UseConfirmationRequest, context: Context
    ) -> pb.UseConfirmationResponse:
        """Mark a confirmation as used."""
        require_service(caller().identity)
        if await uses(self._database, f"confirmation {request.id}") > 1:
            raise AlreadyExistsError("The confirmation was used before.")
        return pb.UseConfirmationResponse()

    async def _get(self, reference: str, user: Identity) -> StoredAssistant:
        """Return the assistant of a reference, perhaps one of the user's organisation's names."""
        try:
            return await self._catalog.get(reference, user)
        except NotFoundError:
            organization = await self._organization(home(user))
            target = renamed(organization.settings, reference) if organization else ""
            if not target:
                raise
        return await self._catalog.get(target, user)

    async def _hosts_of(self, slug: str) -> str:
        organization = await self._organization(slug or DEFAULT_ORGANIZATION)
        return output_hosts(organization.settings) if organization else ""

    async def _checked(
        self, assistant: pb.Assistant, before: Stored | None, context: Context
    ) -> tuple[dict[str, Any] | None, Findings]:
        document, violations = document_of(assistant)
        to_check = pb.Assistant()
        to_check.CopyFrom(assistant)
        to_check.model.connector = current_connector(assistant.model.connector)
        stored = None if before is None else contract(before)
        findings = await self._validation.check(to_check, stored, context)
        findings.violations = list(dict.fromkeys([*violations, *findings.violations]))
        field = "assistant.model.connector"
        findings.warnings += deprecated_connector(assistant.model.connector, field)
        return document, findings


def _may_see(identity: Identity, stored: StoredAssistant) -> bool:
    """Return whether a caller may read an assistant that it may use."""
    return stored.example or may_see(identity, stored)


def _columns(assistant: pb.Assistant) -> dict[str, Any]:
    names = ("name", "description", "system_prompt", "prompt_template")
    return {name: getattr(assistant, name) for name in names}


def _group(request: pb.PublishAssistantRequest) -> dict[str, str]:
    names = ("group_id", "group_name", "oauth_consumer_name")
    values = {name: value for name in names if (value := getattr(request, name))}
    refuse_nul(values, "")
    return values
