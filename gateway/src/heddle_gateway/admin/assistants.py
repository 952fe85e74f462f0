"""`/assistants`: assistants for frontends and programs.

`heddle_conversion.assistant_json` defines their JSON form, also for files.
"""

import asyncio
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any

import msgspec
from google.rpc.error_details_pb2 import BadRequest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle_conversion.assistant_json import (
    FORMAT_VERSION,
    PUBLISHED_MEMBER,
    VERSION_MEMBER,
    WARNINGS_MEMBER,
    write_assistant,
)
from heddle_runtime.errors import DeadlineError, UnavailableError
from heddle_runtime.redaction import REDACTED, redact_personal, redact_value
from pydantic import Field
from starlette.responses import Response as NotModifiedResponse

from heddle_gateway.admin.assistant_bodies import (
    AssistantJson,
    check_readable,
    checked,
    merged,
    read_body,
    refuse,
    unread,
)
from heddle_gateway.http.error_responses import faults, invalid
from heddle_gateway.http.models import AssistantId, Fault, Model
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as

_INSTALLATION = ("id", "owner", "organization", "created")
"""Members that mean nothing in another installation."""
_TEXTS = ("name", "description", "system_prompt", "prompt_template")


def exported(assistant: pb.Assistant) -> dict[str, Any]:
    """Return the JSON form of an assistant for another installation, without owner and secrets.

    The author's texts stay as they are, without the owner's address.
    """
    members = write_assistant(assistant, _embedded_without_secrets)
    for name in _INSTALLATION:
        members.pop(name)
    texts = {name: without_owner(members[name], assistant.owner) for name in _TEXTS}
    return {**without_secrets(members), **texts}


def exported_malformed(response: pb.GetAssistantResponse) -> dict[str, Any]:
    """Return an assistant with malformed metadata as it is stored, without owner and secrets."""
    assistant = response.assistant
    texts = {name: without_owner(getattr(assistant, name), assistant.owner) for name in _TEXTS}
    metadata = without_owner(response.malformed_metadata, assistant.owner)
    return {**texts, "metadata": redact_personal(metadata)}


def _embedded_without_secrets(text: str) -> msgspec.Raw:
    # JSON may hold halves of characters, which only this form of it keeps.
    return msgspec.Raw(json.dumps(without_secrets(json.loads(text))).encode())


def without_owner(text: str, owner: str) -> str:
    """Return a text without the owner's address."""
    return text.replace(owner, REDACTED) if owner else text


def without_secrets(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a JSON value without members and texts that look like a secret or an address."""
    match value:
        case str():
            return redact_personal(value)
        case dict():
            return {
                key: without_secrets(item)
                for key, item in value.items()
                if redact_value(item, key) != REDACTED
            }
        case list():
            return [without_secrets(item) for item in value]
        case _:
            return value


_FINDING = orchestrator_pb2.TemplateFinding.DESCRIPTOR
TemplateFinding = Annotated[dict[str, Any], described_as(_FINDING)]


async def findings_about_template(api: Call, assistant: Assistant) -> list[TemplateFinding]:
    """Return the findings about a template; none if the orchestrator cannot be reached."""
    request = orchestrator_pb2.CheckTemplateRequest(assistant=assistant)
    try:
        response = await call(api.services.orchestrator.CheckTemplate, request)
    except (UnavailableError, DeadlineError):
        return []
    return [writer(_FINDING)(each) for each in response.findings]


SAVE = {"Content-Disposition": "The name of the file."}
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_STORED = pb.GetAssistantResponse.DESCRIPTOR
_SUMMARY = pb.AssistantSummary.DESCRIPTOR
_SHOWN = {*_SUMMARY.fields_by_name} & {*pb.Assistant.DESCRIPTOR.fields_by_name}
"""The fields of an assistant that all see who may use it."""
StoredJson = Annotated[dict[str, Any], described_as(_STORED, "etag")]
Response = pb.CreateAssistantResponse | pb.UpdateAssistantResponse | pb.GetAssistantResponse
routes = Routes("assistants")


class ValidationReport(Model):
    """The result of a check."""

    valid: bool = Field(description="Whether the assistant would be stored.")
    violations: list[Fault] = Field(description="The faults for which it would be refused.")
    warnings: list[Fault] = Field(description="As of a stored assistant.")
    template_findings: list[TemplateFinding] = Field(
        description="Slots that get no text, and tools whose output has no place. They prevent "
        "nothing."
    )


class ImportQuery(Model):
    """The query of an import."""

    name: str = Field(
        default="",
        description="The name of the new assistant, by default the one in the file.",
        json_schema_extra={"pattern": "^([A-Za-z0-9][A-Za-z0-9_-]{0,127})?$"},
    )


@routes.get(
    "/assistants/{id}",
    errors=(400, 404, 422),
    headers=ETAG,
    responses={304: None},
    returns=StoredJson | Annotated[dict[str, Any], described_as(_SUMMARY)],
)
async def get(api: Call, id_: AssistantId) -> dict[str, Any] | NotModifiedResponse:
    """Get an assistant. One in an older format is migrated first.

    A caller who may use but not read it gets its description only, as in the list. With the ETag of
    the assistant in `If-None-Match`, the response is 304.
    """
    request = pb.GetAssistantRequest(reference=f"{PREFIX}{id_}")
    response = await call(api.services.assistants.GetAssistant, request)
    if api.knows(response.etag):
        api.set_etag(response.etag)
        return NotModifiedResponse(status_code=304)
    assistant = response.assistant
    if response.readable:
        return stored(api, response, published=response.published)
    api.set_etag(response.etag)
    summary = pb.AssistantSummary(
        published=response.published,
        format_version=FORMAT_VERSION,
        **{name: getattr(assistant, name) for name in _SHOWN},
    )
    return writer(_SUMMARY)(summary)


@routes.post("/assistants", status=201, errors=(404, 409), headers={**ETAG, **LOCATION})
async def create(api: Call, body: AssistantJson) -> StoredJson:
    """Create an assistant. `id` and `organization` are ignored.

    An invalid one is refused; the error names all its faults.
    """
    new, errors = read_body(body, api.json)
    published = body.get(PUBLISHED_MEMBER) is True
    request = pb.CreateAssistantRequest(
        assistant=new, published=published, validate_only=bool(errors)
    )
    response = await call(api.services.assistants.CreateAssistant, request)
    refuse(errors, response.violations)
    return created(api, response, published=published)


@routes.post("/assistants/import", status=201, errors=(409, 422), headers={**ETAG, **LOCATION})
async def import_assistant(api: Call, query: ImportQuery, body: AssistantJson) -> StoredJson:
    """Create an assistant of the caller from an export.

    Faults are warnings, unless `model` is missing.
    """
    if "model" not in body:
        raise (api.json / "model").invalid("is required: without it this is no export of Heddle")
    new, errors = read_body(body, api.json)
    refuse([error for error in errors if error.path == (VERSION_MEMBER,)], ())
    new.owner = ""
    new.name = query.name or new.name
    request = pb.CreateAssistantRequest(assistant=new, imported=True)
    response = await call(api.services.assistants.CreateAssistant, request)
    return created(api, response, published=False, warnings=unread(errors))


@routes.post("/assistants/validate")
async def validate(api: Call, body: AssistantJson) -> ValidationReport:
    """Check an assistant and store nothing.

    With the `id` of an assistant that the caller may change, faults that it has already are
    warnings.
    """
    assistant, errors = read_body(body, api.json)
    response, template_findings = await asyncio.gather(
        checked(api.services.assistants, assistant), findings_about_template(api, assistant)
    )
    violations = merged(errors, response.violations)
    return ValidationReport(
        valid=not violations,
        violations=[Fault(**each) for each in faults(violations)],
        warnings=[Fault(**each) for each in faults(response.warnings)],
        template_findings=template_findings,
    )


@routes.put("/assistants/{id}", errors=(404, 409, 422), headers=ETAG, if_match=True)
async def update(api: Call, id_: AssistantId, body: AssistantJson) -> StoredJson:
    """Replace an assistant. Members that the body lacks become empty.

    `owner`, `organization`, `created` and `published` may be sent back and are not changed. Faults
    that the assistant does not have yet are refused; the error names all of them.
    """
    changed, errors = read_body(body, api.json)
    if changed.id and changed.id != id_:
        raise invalid("id", "is not the assistant of the path")
    changed.id = id_
    request = pb.UpdateAssistantRequest(
        assistant=changed, etag=api.expected_etag(), validate_only=bool(errors)
    )
    response = await call(api.services.assistants.UpdateAssistant, request)
    refuse(errors, response.violations)
    return stored(api, response, published=response.published)


@routes.post("/assistants/{id}/undelete", errors=(400, 404, 409), headers=ETAG)
async def undelete(api: Call, id_: AssistantId) -> StoredJson:
    """Take back the deletion of an assistant, which keeps its identifier.

    Those may who could change it, for 30 days unless the operator sets another time. An assistant
    that is not deleted stays as it is.
    """
    await call(api.services.assistants.UndeleteAssistant, pb.UndeleteAssistantRequest(id=id_))
    request = pb.GetAssistantRequest(reference=f"{PREFIX}{id_}")
    response = await call(api.services.assistants.GetAssistant, request)
    return stored(api, response, published=response.published)


@routes.get(
    "/assistants/{id}/export",
    errors=(400, 404, 422),
    headers=SAVE,
    returns=AssistantJson,
)
async def export(api: Call, id_: AssistantId) -> dict[str, Any]:
    """Get an assistant that the caller may read as a file, without its owner and secrets.

    The file of an assistant whose stored text cannot be understood has that text in `metadata`.
    """
    reference = f"{PREFIX}{id_}"
    request = pb.GetAssistantRequest(reference=reference)
    response = await call(api.services.assistants.GetAssistant, request)
    check_readable(reference, readable=response.readable)
    api.save_as(filename(id_))
    if response.HasField("malformed_metadata"):
        return exported_malformed(response)
    return exported(response.assistant)


def filename(identifier: str) -> str:
    """Return the name of an assistant's file."""
    return f"assistant_{_UNSAFE.sub('_', identifier)}.json"


def created(
    api: Call,
    response: pb.CreateAssistantResponse | pb.GetAssistantResponse,
    *,
    published: bool,
    warnings: Iterable[BadRequest.FieldViolation] = (),
) -> dict[str, Any]:
    """Return the response about a new assistant, with further warnings."""
    api.headers["location"] = f"/assistants/{response.assistant.id}"
    members = stored(api, response, published=published)
    return {**members, WARNINGS_MEMBER: [*members[WARNINGS_MEMBER], *faults(warnings)]}


def stored(api: Call, response: Response, *, published: bool) -> dict[str, Any]:
    """Return the response about a stored assistant, and set its ETag."""
    api.set_etag(response.etag)
    if not isinstance(response, pb.GetAssistantResponse):
        response = pb.GetAssistantResponse(
            assistant=response.assistant, warnings=response.warnings, published=published
        )
    return writer(_STORED, ("etag",))(response)
