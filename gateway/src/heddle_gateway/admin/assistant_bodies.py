"""Reads assistants from bodies, with all their faults."""

from collections.abc import Iterable
from functools import cache
from typing import Annotated, Any

from google.rpc.error_details_pb2 import BadRequest
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.assistant.v1.assistant_pb2_grpc import AssistantServiceAsyncStub
from heddle_conversion.assistant_json import (
    PUBLISHED_MEMBER,
    FieldError,
    contains,
    path_text,
    read_fields,
)
from heddle_runtime.contract.rest_members import members
from heddle_runtime.errors import (
    InvalidRequestError,
    NotFoundError,
    PermissionDeniedError,
    Violation,
)

from heddle_gateway.http.error_responses import request_field
from heddle_gateway.http.json_text import Place
from heddle_gateway.http.models import DocumentedAs, Model
from heddle_gateway.services import call
from heddle_gateway.transcoding.schemas import body_model


def check_readable(reference: str, *, readable: bool) -> None:
    """Answer about an assistant that the caller may not read as if there were none.

    Raises:
        NotFoundError: The caller may not read it.
    """
    if not readable:
        raise NotFoundError(f"No assistant is named {reference!r}.", assistant=reference)


@cache
def assistant_body() -> type[Model]:
    """Return the model that describes assistants in requests; `heddle_conversion` reads them."""
    stored = pb.GetAssistantResponse.DESCRIPTOR
    parts = [each for each in members(stored) if each.field.name != "etag"]
    return body_model(stored, parts, "AssistantBody")


AssistantJson = Annotated[dict[str, Any], DocumentedAs(factory=assistant_body)]


def read_body(body: dict[str, Any], place: Place) -> tuple[pb.Assistant, list[FieldError]]:
    """Return the assistant that a body describes, and the members that cannot be read.

    What the body lacks, or what cannot be read, is empty.
    """
    assistant, errors = read_fields(body, lambda path, _: place.at(*path).text())
    if not isinstance(body.get(PUBLISHED_MEMBER), bool | None):
        errors.append(FieldError((PUBLISHED_MEMBER,), "must be true or false"))
    return assistant, errors


async def checked(
    service: AssistantServiceAsyncStub, assistant: pb.Assistant
) -> pb.CreateAssistantResponse | pb.UpdateAssistantResponse:
    """Return the violations and the warnings of an assistant. Nothing is stored.

    An assistant with an `id` that the caller may change is checked as an edit of that one: its
    response is that of the update.
    """
    edit = pb.UpdateAssistantRequest(assistant=assistant, validate_only=True)
    new = pb.CreateAssistantRequest(assistant=assistant, validate_only=True)
    if not assistant.id:
        return await call(service.CreateAssistant, new)
    try:
        return await call(service.UpdateAssistant, edit)
    except (NotFoundError, PermissionDeniedError):  # one of a file, or of another installation
        return await call(service.CreateAssistant, new)


def unread(errors: Iterable[FieldError]) -> list[BadRequest.FieldViolation]:
    """Return members that cannot be read as warnings."""
    return [
        BadRequest.FieldViolation(field=path_text(error.path), description=error.problem)
        for error in errors
    ]


def refuse(errors: Iterable[FieldError], violations: Iterable[BadRequest.FieldViolation]) -> None:
    """Refuse a body with members that cannot be read.

    Args:
        errors: The members.
        violations: What the service finds wrong with the rest of the assistant.

    Raises:
        InvalidRequestError: There are such members; the violations are all faults.
    """
    if errors:
        raise InvalidRequestError("The assistant is not valid.", merged(errors, violations))


def merged(
    errors: Iterable[FieldError], violations: Iterable[BadRequest.FieldViolation]
) -> list[Violation]:
    """Return all faults, without those that members which cannot be read cause."""
    paths = {path_text(error.path) for error in errors}
    others = [Violation(request_field(each.field), each.description) for each in violations]
    return [
        *(Violation(path_text(error.path), error.problem) for error in errors),
        *(each for each in others if not contains(paths, each.field)),
    ]
