"""`/assistants/import`: files of Heddle and exports of LAMB."""

from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.migration.v1 import record_pb2
from heddle_conversion.assistant_json import VERSION_MEMBER
from pydantic import Field, RootModel

from heddle_gateway.admin.assistant_bodies import read_body, refuse, unread
from heddle_gateway.admin.assistant_schema import AssistantBody
from heddle_gateway.admin.assistants import StoredJson, created
from heddle_gateway.http.models import DocumentedAs, Model, validate
from heddle_gateway.lamb.assistant_records import imported
from heddle_gateway.lamb.assistants import NewRecord
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call

routes = Routes("assistants")


class AssistantFile(RootModel[AssistantBody | NewRecord]):
    """An assistant as Heddle exports it, or as LAMB does."""


AssistantFileJson = Annotated[dict[str, Any], DocumentedAs(AssistantFile)]


class ImportQuery(Model):
    """The query of an import."""

    name: str = Field(
        default="",
        description="The name of the new assistant, by default the one in the file.",
        json_schema_extra={"pattern": "^([A-Za-z0-9][A-Za-z0-9_-]{0,127})?$"},
    )


@routes.post("/assistants/import", status=201, errors=(409, 422), headers={**ETAG, **LOCATION})
async def import_assistant(api: Call, query: ImportQuery, body: AssistantFileJson) -> StoredJson:
    """Create an assistant of the caller from an export of Heddle or of LAMB.

    Faults are warnings. Metadata of LAMB that cannot be understood is stored as it is, until `PUT`
    repairs it.
    """
    if "model" in body:
        new, errors = read_body(body, api.json)
        refuse([error for error in errors if error.path == (VERSION_MEMBER,)], ())
        new.owner = ""
        new.name = query.name or new.name
        request = pb.CreateAssistantRequest(assistant=new, imported=True)
        response = await call(api.services.assistants.CreateAssistant, request)
        return created(api, response, published=False, warnings=unread(errors))
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
