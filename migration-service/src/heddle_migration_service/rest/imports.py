"""`/assistants/import`: files of Heddle and exports of LAMB."""

from functools import cache
from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.migration.v1 import record_pb2
from heddle_gateway.admin import assistants
from heddle_gateway.admin.assistant_bodies import assistant_body
from heddle_gateway.admin.assistants import ImportQuery, StoredJson, created
from heddle_gateway.http.models import DocumentedAs, validate
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call
from pydantic import BaseModel, RootModel, create_model

from heddle_migration_service.rest.assistant_records import imported
from heddle_migration_service.rest.assistants import NewRecord

routes = Routes("assistants")


@cache
def _assistant_file() -> type[BaseModel]:
    """Return the model that describes files of assistants."""
    base: Any = RootModel[assistant_body() | NewRecord]  # type: ignore[misc] # made of the contract
    text = "An assistant as Heddle exports it, or as LAMB does."
    file: type[BaseModel] = create_model("AssistantFile", __base__=base, __doc__=text)
    return file


AssistantFileJson = Annotated[dict[str, Any], DocumentedAs(factory=_assistant_file)]


@routes.post("/assistants/import", status=201, errors=(409, 422), headers={**ETAG, **LOCATION})
async def import_assistant(api: Call, query: ImportQuery, body: AssistantFileJson) -> StoredJson:
    """Create an assistant of the caller from an export of Heddle or of LAMB.

    Faults are warnings. Metadata of LAMB that cannot be understood is stored as it is, until `PUT`
    repairs it.
    """
    if "model" in body:
        return await assistants.import_assistant(api, query, body)
    members = body | {"name": query.name or body.get("name")}
    edit = validate(NewRecord, members).model_dump()
    record = imported(body, edit, api.json)
    record_request = record_pb2.CreateRecordRequest(record=record, imported=True)
    stored = await call(api.services.records.CreateRecord, record_request)
    reference = f"{PREFIX}{stored.record.id}"
    get = pb.GetAssistantRequest(reference=reference)
    assistant = await call(api.services.assistants.GetAssistant, get)
    warnings = () if assistant.HasField("malformed_metadata") else stored.warnings
    return created(api, assistant, published=False, warnings=warnings)
