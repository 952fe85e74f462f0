"""Generates the OpenAPI document from the declarations of the routes and their models."""

from collections.abc import Iterable, Mapping
from importlib.metadata import version
from typing import Any

from pydantic import Field, TypeAdapter

from heddle_gateway.http.headers import SESSION_COOKIE
from heddle_gateway.http.models import Fault, Model, Seconds, adapter, documented
from heddle_gateway.http.operations import Access, Operation

_REFERENCE = "#/components/schemas/{model}"
_ERROR = {"$ref": "#/components/responses/Error"}
_KEY_ERRORS = (401, 403, 429, 500, 501, 503, 504)
_BODY_ERRORS = (400, 408, 413)
_IF_MATCH = {
    "name": "If-Match",
    "in": "header",
    "description": "The `ETag` that the client has read. If the object has changed since, nothing "
    "is changed and the status is 409. Without it, or with `*`, the change is always made.",
    "schema": {"type": "string"},
    "example": "*",
}
_SECURITY: Mapping[Access, list[dict[str, list[str]]]] = {
    Access.OPEN: [],
    Access.OPTIONAL: [{}, {"key": []}, {"session": []}],
}
_DESCRIPTION = """\
OpenAI's clients use `/v1`. Other programs use `/assistants`, `/rubrics` and `/prompts`.

Every failure is an object `error` in OpenAI's form. An object that the caller may not see gets the
same response as one that does not exist.
"""
_TAGS = {
    "completions": "Completions of assistants, and assistants as OpenAI's models.",
    "conversations": "Stored conversations of the caller, in OpenAI's form.",
    "assistants": "Assistants for frontends and programs.",
    "groups": "Groups of learners, such as courses, and the assistants that they may use.",
    "prompts": "Instructions that authors save, share and insert into their assistants.",
    "rubrics": "Assessment rubrics, which the tool `rubric` reads for their owners' assistants.",
    "files": "Uploaded files, in OpenAI's form.",
    "vector stores": "Collections of the knowledge service, in OpenAI's form.",
    "catalog": "The parts of assistants.",
    "mcp": "Heddle's tools for clients of the Model Context Protocol, and the MCP servers of "
    "organisations.",
    "sign-in": "Sessions of users, which browsers keep in a cookie, and passwords.",
    "organizations": "Organisations, their settings and their users.",
    "keys": "API keys for programs.",
    "usage": "What models cost.",
    "studio": "The web application, a client of the other routes.",
    "service": "The gateway itself.",
}


class Conflict(Model):
    """The version that an object has now."""

    etag: str = Field(description="Its ETag, without quotation marks; also in the header.")
    author: str | None = Field(description="Who saved it; null if that is unknown.")
    save_time: Seconds


class ErrorDetail(Model):
    """An error."""

    message: str
    type: str
    param: str | None
    code: str | None
    documentation_url: str = Field(
        description="What callers can do about it, relative to the address of the gateway.",
        examples=["/errors#not-found"],
    )
    violations: list[Fault] = Field(
        default=[], description="All invalid members of the request, if it is invalid."
    )
    conflict: Conflict | None = Field(
        default=None, description="If an assistant changed since the client read it."
    )


class Error(Model):
    """The request failed; `error.message` gives the reason."""

    error: ErrorDetail
    detail: str = ""


def document(operations: Iterable[Operation], more_tags: Mapping[str, str]) -> dict[str, Any]:
    """Return the OpenAPI document; `more_tags` are the descriptions of tags of extensions."""
    tags = {**_TAGS, **more_tags}
    operations = list(operations)
    schemas, components = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        path = paths.setdefault(operation.path.replace(":path", ""), {})
        path[operation.method.lower()] = _operation(operation, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Heddle",
            "summary": "Assistants with tools, with OpenAI's interfaces.",
            "description": _DESCRIPTION,
            "version": version("heddle-gateway"),
        },
        "security": [{"key": []}, {"session": []}],
        "tags": [{"name": name, "description": text} for name, text in tags.items()],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key. `heddle keys create` makes one.",
                },
                "session": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": SESSION_COOKIE,
                    "description": "The token of a session, which `POST /login` sets; over https "
                    f"its name is `__Host-{SESSION_COOKIE}`. Requests other than GET and HEAD need "
                    "the header `x-csrf-token` with the `csrf_token` of `/v1/me`, and the header "
                    "`Origin` or `Sec-Fetch-Site` of a page of this gateway. The header "
                    "`Authorization` takes precedence.",
                },
            },
            "responses": {
                "Error": {
                    "description": "The request failed; `error.message` gives the reason.",
                    "content": _json({"$ref": _REFERENCE.format(model="Error")}),
                }
            },
            "schemas": components,
        },
    }


Schemas = Mapping[Any, dict[str, Any]]
"""The schemas of types in a mode; those of models are references."""


def _schemas(operations: list[Operation]) -> tuple[Schemas, dict[str, Any]]:
    """Return the schemas of all types, and those of the models to which they refer."""
    kinds: dict[tuple[Any, Any], None] = {(Error, "serialization"): None}
    for operation in operations:
        kinds |= {(kind, "validation"): None for kind in (operation.body, operation.form)}
        responses = (operation.response, *operation.responses.values())
        kinds |= {(kind, "serialization"): None for kind in responses}
    adapters = [(kind, mode, adapter(kind)) for kind, mode in kinds if kind is not None]
    references, definitions = TypeAdapter.json_schemas(adapters, ref_template=_REFERENCE)
    return references, _without_titles(definitions["$defs"])


def _operation(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    summary, _, description = operation.docstring.partition("\n\n")
    described: dict[str, Any] = {"tags": [operation.tag], "summary": " ".join(summary.split())}
    if description:
        described["description"] = description
    if operation.access in _SECURITY:
        described["security"] = _SECURITY[operation.access]
    if parameters := _parameters(operation):
        described["parameters"] = parameters
    for model, media_type in (
        (operation.body, "application/json"),
        (operation.form, "multipart/form-data"),
    ):
        if model is not None:
            content = {media_type: {"schema": schemas[model, "validation"]}}
            described["requestBody"] = {"required": True, "content": content}
    described["responses"] = _responses(operation, schemas)
    return described


def _parameters(operation: Operation) -> list[dict[str, Any]]:
    parameters = [
        _parameter(name.removesuffix("_"), "path", adapter(annotation).json_schema(), required=True)
        for name, annotation in operation.path_parameters.items()
    ]
    if operation.if_match:
        parameters.append(_IF_MATCH)
    for place, model in (("query", operation.query), ("header", operation.request_headers)):
        if model is None:
            continue
        schema = model.model_json_schema(ref_template=_REFERENCE)
        required = schema.get("required", ())
        parameters += [
            _parameter(name, place, _without_titles(member), required=name in required)
            for name, member in schema["properties"].items()
        ]
    return parameters


def _parameter(name: str, place: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    schema = dict(schema)
    described: dict[str, Any] = {"name": name, "in": place}
    if required:
        described["required"] = True
    described["description"] = schema.pop("description")
    if examples := schema.pop("examples", None):
        described["example"] = examples[0]
    return {**described, "schema": schema}


def _responses(operation: Operation, schemas: Schemas) -> dict[str, Any]:
    responses = {str(operation.status): _success(operation, operation.response, schemas)}
    for status, model in operation.responses.items():
        responses[str(status)] = _success(operation, model, schemas, alone=True)
    errors = list(operation.errors)
    if operation.access is not Access.OPEN:
        errors += _KEY_ERRORS
    if operation.body is not None or operation.form is not None:
        errors += _BODY_ERRORS
    for status in sorted(errors):
        responses.setdefault(str(status), _ERROR)
    return responses


def _success(
    operation: Operation,
    kind: Any,  # noqa: ANN401 - any type
    schemas: Schemas,
    *,
    alone: bool = False,
) -> dict[str, Any]:
    model = documented(kind)
    description = (model.__doc__ or "").partition("\n")[0] if model is not None else ""
    response: dict[str, Any] = {"description": description or "The response."}
    if operation.headers and not alone:
        response["headers"] = {
            name: {"description": text, "required": True, "schema": {"type": "string"}}
            for name, text in operation.headers.items()
        }
    content: dict[str, Any] = {} if alone else {media_type: {} for media_type in operation.content}
    if kind is not None:
        content = _json(schemas[kind, "serialization"]) | content
    if content:
        response["content"] = content
    return response


def _json(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}


def _without_titles(schema: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return a schema without the titles that pydantic makes of names."""
    match schema:
        case dict():
            return {
                key: value if key == "examples" else _without_titles(value)
                for key, value in schema.items()
                if key != "title" or not isinstance(value, str)
            }
        case list():
            return [_without_titles(item) for item in schema]
        case _:
            return schema
