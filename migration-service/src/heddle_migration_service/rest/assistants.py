"""`/creator/assistant/…`: assistants for LAMB's frontend and command.

The paths and the members are LAMB's. Errors repeat their message under `detail`.
"""

from typing import Annotated, Any, Literal

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.migration.v1 import record_pb2
from heddle_gateway.admin.assistant_bodies import check_readable
from heddle_gateway.admin.assistants import SAVE, filename
from heddle_gateway.http.error_responses import faults
from heddle_gateway.http.models import AssistantId, DocumentedAs, Fault, Model, identifier_text
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call
from heddle_runtime.errors import AlreadyExistsError
from heddle_runtime.identity.call_metadata import caller
from pydantic import BeforeValidator, Field

from heddle_migration_service.rest import assistant_records as records

MAX_PAGE = 100
MAX_OFFSET = 2**31 - 1
"""The contract counts skipped records in 32 bits."""
_PREFIX = "/creator/assistant"
routes = Routes("creator")


def _top_k(value: object) -> str | None:
    """Return the text of a whole number; LAMB's clients send numbers and texts."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str | None):
        raise ValueError("must be a whole number")  # noqa: TRY004 - as pydantic expects
    return None if value is None else str(value)


class RecordEdit(Model):
    """Members that LAMB's editors send; others are ignored."""

    name: str | None = None
    description: str | None = None
    system_prompt: str | None = None
    instructions: str | None = Field(default=None, description="Another name of `system_prompt`.")
    prompt_template: str | None = None
    RAG_Top_k: Annotated[
        str | None,
        BeforeValidator(_top_k, json_schema_input_type=int | str | None),
    ] = None
    RAG_collections: Annotated[
        str | None, BeforeValidator(identifier_text, json_schema_input_type=int | str | None)
    ] = Field(default=None, description="Identifiers with commas.")
    metadata: dict[str, Any] | str | None = Field(
        default=None, description="A JSON object, or the text of one."
    )
    api_callback: dict[str, Any] | str | None = Field(
        default=None, description="Another name of `metadata`, which counts if both are set."
    )


class NewRecord(RecordEdit):
    """A new assistant in LAMB's form."""

    name: str = Field(pattern=r"\S", examples=["biology_tutor"])


class LambAssistant(Model):
    """An assistant in LAMB's form, with members of its metadata at the top level."""

    id: int | str
    name: str
    description: str | None
    owner: str
    organization: str
    metadata: str | None = Field(description="The text of a JSON object.")
    api_callback: str | None = Field(description="The same as `metadata`.")
    system_prompt: str | None
    prompt_template: str | None
    RAG_Top_k: int | str | None
    RAG_collections: str | None
    RAG_endpoint: str | None
    pre_retrieval_endpoint: str | None
    post_retrieval_endpoint: str | None
    group_id: str | None
    group_name: str | None
    oauth_consumer_name: str | None
    published: bool
    published_at: int | None = Field(description="Seconds since 1970.")
    created_at: int | None
    updated_at: int | None
    is_owner: bool
    access_level: Literal["full", "read_only"]


LambJson = Annotated[dict[str, Any], DocumentedAs(LambAssistant)]


class LambAssistantList(Model):
    """The assistants."""

    assistants: list[LambJson]
    total_count: int


class CreatedRecord(Model):
    """The new assistant."""

    assistant_id: int | str
    name: str
    description: str
    owner: str
    publish_status: None = None
    warnings: list[Fault] = Field(default=[], description="What could not be checked.")


class UpdatedRecord(Model):
    """The assistant is updated."""

    assistant_id: int | str
    message: str = "The assistant was updated."
    published: bool
    warnings: list[Fault] = Field(
        default=[], description="Faults that were stored before, and what could not be checked."
    )


class Message(Model):
    """A message."""

    message: str


class PublishStatus(Model):
    """Whether an assistant is published."""

    publish_status: bool


class RecordQuery(Model):
    """The query of the list of assistants."""

    limit: int = Field(default=10, ge=1, le=MAX_PAGE, description="The maximum number of items.")
    offset: int = Field(default=0, ge=0, le=MAX_OFFSET, description="The number of skipped items.")


@routes.get(f"{_PREFIX}/get_assistants", errors=(400,))
async def list_assistants(api: Call, query: RecordQuery) -> LambAssistantList:
    """List the assistants that the caller may change."""
    request = record_pb2.ListRecordsRequest(page_size=query.limit, skip=query.offset)
    method = api.services.records.ListRecords
    page = await call(method, request)
    stored, total = list(page.records), page.total_size
    while page.next_page_token and len(stored) < query.limit:  # large records shorten a page
        request = record_pb2.ListRecordsRequest(
            page_size=query.limit - len(stored), page_token=page.next_page_token
        )
        page = await call(method, request)
        stored += page.records
    identity = caller().identity
    assistants = [records.to_lamb(each, identity, changeable=True) for each in stored]
    return LambAssistantList(assistants=assistants, total_count=total)


@routes.get(
    f"{_PREFIX}/get_assistant/{{id}}",
    errors=(400, 404, 422),
    headers=ETAG,
)
async def get(api: Call, id_: AssistantId) -> LambJson:
    """Get an assistant. One in LAMB's format is migrated first.

    A caller who may use but not read it gets neither prompts nor metadata.
    """
    return _view(api, await _record(api, id_))


@routes.post(f"{_PREFIX}/create_assistant", status=201, errors=(409, 422))
async def create(api: Call, body: NewRecord) -> CreatedRecord:
    """Create an assistant. Its name gets no prefix."""
    record = records.to_record(body.model_dump(), api.json)
    record.name = records.valid_name(record.name)
    request = record_pb2.CreateRecordRequest(record=record)
    try:
        response = await call(api.services.records.CreateRecord, request)
    except AlreadyExistsError as error:  # LAMB's frontend looks for these words
        message = f"An assistant named '{record.name}' already exists for this owner."
        raise AlreadyExistsError(message) from error
    stored = response.record
    warnings = faults(response.warnings)
    return CreatedRecord.of(stored, assistant_id=records.lamb_id(stored.id), warnings=warnings)


@routes.put(
    f"{_PREFIX}/update_assistant/{{id}}", errors=(404, 409, 422), headers=ETAG, if_match=True
)
async def update(api: Call, id_: AssistantId, body: RecordEdit) -> UpdatedRecord:
    """Change an assistant. Members that the body lacks stay unchanged.

    Metadata must have `prompt_processor`, `connector`, `llm` and `rag_processor`. Its members that
    are null are removed; members that it lacks stay.
    """
    record = records.to_record(body.model_dump(), api.json)
    records.check_metadata(record)
    if record.HasField("name"):
        stored = (await _record(api, id_)).record
        record.name = records.edited_name(stored.name, record.name)
    request = record_pb2.UpdateRecordRequest(id=id_, record=record, etag=api.expected_etag())
    response = await call(api.services.records.UpdateRecord, request)
    api.set_etag(response.etag)
    return UpdatedRecord(
        assistant_id=records.lamb_id(id_),
        published=response.record.published,
        warnings=[Fault(**each) for each in faults(response.warnings)],
    )


@routes.delete(f"{_PREFIX}/delete_assistant/{{id}}", errors=(400, 404, 409), if_match=True)
async def delete(api: Call, id_: AssistantId) -> Message:
    """Delete an assistant."""
    request = pb.DeleteAssistantRequest(id=id_, etag=api.expected_etag())
    await call(api.services.assistants.DeleteAssistant, request)
    return Message(message="The assistant was deleted.")


@routes.get(f"{_PREFIX}/export/{{id}}", errors=(400, 404, 422), headers=SAVE)
async def export(api: Call, id_: AssistantId) -> dict[str, Any]:
    """Get an assistant as a file that can be imported elsewhere."""
    response = await _record(api, id_)
    record = response.record
    check_readable(id_, readable=response.changeable)
    api.save_as(filename(id_))
    return records.exported(record)


@routes.put(f"{_PREFIX}/publish/{{id}}", errors=(404, 409, 422), headers=ETAG)
async def publish(api: Call, id_: AssistantId, body: PublishStatus) -> LambJson:
    """Set whether others of the organisation may use an assistant."""
    stored = (await _record(api, id_)).record
    group = f"assistant_{id_}"
    request = pb.PublishAssistantRequest(
        id=id_,
        published=body.publish_status,
        group_id=stored.group_id or group,
        group_name=stored.group_name or group,
        oauth_consumer_name=stored.name if body.publish_status else "",
    )
    await call(api.services.assistants.PublishAssistant, request)
    return _view(api, await _record(api, id_))


async def _record(api: Call, identifier: str) -> record_pb2.GetRecordResponse:
    request = record_pb2.GetRecordRequest(id=identifier)
    return await call(api.services.records.GetRecord, request)


def _view(api: Call, response: record_pb2.GetRecordResponse) -> dict[str, Any]:
    api.set_etag(response.etag)
    api.headers["cache-control"] = "no-cache, no-store, must-revalidate"
    identity = caller().identity
    return records.to_lamb(response.record, identity, changeable=response.changeable)
