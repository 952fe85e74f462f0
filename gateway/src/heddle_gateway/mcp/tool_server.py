"""`/tools/openapi.json`: the tools of `/mcp` for clients that read OpenAPI, such as Open WebUI."""

from typing import Annotated, Any

import msgspec
from heddle_runtime.contract.json_text import members
from pydantic import Field

from heddle_gateway.http.headers import own_address
from heddle_gateway.http.models import Model, identifier
from heddle_gateway.mcp import assistants, tools
from heddle_gateway.routing import Call, Routes

_ANSWER: dict[str, Any] = {
    "description": "The result.",
    "content": {"application/json": {"schema": {"type": "object"}}},
}
FunctionName = Annotated[str, identifier("The tool, as the document names it.", "ask_tutor")]
routes = Routes("mcp")


class ToolServer(Model):
    """An OpenAPI document with an operation for each tool."""

    openapi: str = "3.1.0"
    info: dict[str, str]
    servers: list[dict[str, str]]
    paths: dict[str, Any]


class Arguments(Model):
    """The arguments of a tool, as the document describes them."""


class ToolAnswer(Model):
    """The result of a tool, or the answer of an assistant."""

    text: str
    sources: list[dict[str, str]] = Field(description="Each has `title`, `url` and `excerpt`.")
    warnings: list[str] = Field(description="Parts of the work that failed.")


@routes.get("/tools/openapi.json")
async def document(api: Call) -> ToolServer:
    """Describe the tools that the caller may use as an OpenAPI document, for Open WebUI and others.

    These are those of `/mcp`: the functions of tools that need no configuration, and `ask_NAME` for
    at most 200 assistants.
    """
    functions = await tools.functions(api.state)
    operations = {
        name: (function.description, {"type": "object", **members(function.parameters_schema_json)})
        for name, (_, function, _) in functions.items()
    }
    for name, each in (await assistants.assistants(api.state)).items():
        operations.setdefault(name, (assistants.description(each), assistants.SCHEMA))
    request = api.raw
    base = own_address(
        api.state.settings.public_url, request.scope["scheme"], request.header("host")
    )
    return ToolServer(
        info={"title": "Heddle", "version": "1"},
        servers=[{"url": f"{base}/tools"}],
        paths={f"/functions/{name}": _operation(name, *it) for name, it in operations.items()},
    )


def _operation(name: str, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "post": {
            "operationId": name,
            "description": description,
            "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}},
            "responses": {"200": _ANSWER},
        }
    }


@routes.post("/tools/functions/{name}", errors=(404, 409, 422, 502))
async def call_function(
    api: Call,
    name: FunctionName,
    body: Arguments,  # noqa: ARG001 - its exact text counts
) -> ToolAnswer:
    """Call a tool of `/tools/openapi.json`, or ask an assistant, with the rights of the caller."""
    state, arguments = api.state, api.json.text()
    with state.running.watch(api.raw):
        named = None
        if name.startswith(assistants.ASK):
            named = (await assistants.assistants(state)).get(name)
        if named is not None:
            question = msgspec.json.decode(arguments).get("question")
            reply = await assistants.ask(state, named.id, question, api.raw.request_id)
            return ToolAnswer(text=reply.text, sources=reply.sources, warnings=[])
        result = await tools.call_function(state, name, arguments, _unseen)
    return ToolAnswer(
        text="".join(part.text for part in result.parts),
        sources=[assistants.source(each) for each in result.sources],
        warnings=list(result.warnings),
    )


async def _unseen(_: str) -> None:
    """Show no progress."""
