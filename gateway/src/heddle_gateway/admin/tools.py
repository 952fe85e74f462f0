"""`/tools`: the tools that assistants can bind."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_conversion.assistant_json import FieldError, read_struct
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import DeadlineError, UnavailableError
from pydantic import Field

from heddle_gateway.http.models import DocumentedAs, Fault, Model
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call, items
from heddle_gateway.transcoding.schemas import Setting

Mode = Literal["augment", "function", "agent"]
Effect = Literal["read_only", "non_destructive", "destructive"]
_EFFECTS: dict[int, Effect] = {
    tool_pb2.TOOL_EFFECT_READ_ONLY: "read_only",
    tool_pb2.TOOL_EFFECT_NON_DESTRUCTIVE: "non_destructive",
}
_MODES = enum_names(assistant_pb2.Mode.DESCRIPTOR)
ToolName = Annotated[str, Field(description="The tool's name.", min_length=1, examples=["rubric"])]
ToolConfig = Annotated[dict[str, Any], DocumentedAs(dict[str, Setting])]
routes = Routes("catalog")


class ToolDefinition(Model):
    """A tool."""

    name: str = Field(description="`type` of a binding in an assistant.")
    title: str
    label: str = Field(description="A short name, for badges.")
    description: str
    default_slot: str = Field(description="The slot that a binding without `slot` fills.")
    category: str
    config_schema: dict[str, Any] = Field(
        description="A JSON schema. Properties have a `title`, and can have `x-heddle-input` (how "
        "people fill them in: `collections`, `collection`, `rubric`, `file`, `model`, `secret` or "
        "`multiline`) and `x-heddle-i18n` (translations by language; at the root those of the "
        "tool's `title`, `description` and `label`)."
    )
    version: str
    function_name: str = Field(description="The name by which models call the tool.")
    modes: list[Mode] = Field(description="The ways in which an assistant can bind the tool.")
    connectors: dict[Mode, list[str]] | None = Field(
        description="For each mode, the connectors of the assistants that can bind the tool so. "
        "Null if the connector service does not answer."
    )
    effect: Effect = Field(
        description="What a call can change outside of the answer: nothing, something that can be "
        "put back, or anything. Of a tool with several functions, the most that one can."
    )
    functions: list[dict[str, Any]] = Field(
        description="The tool's functions, as OpenAI's `tools`. Empty if they depend on its "
        "configuration."
    )


class ToolList(Model):
    """The tools."""

    tools: list[ToolDefinition]


class ToolConfigReport(Model):
    """The result of a validation."""

    valid: bool
    violations: list[Fault] = Field(description="The faults of the configuration.")


@routes.get("/tools")
async def list_tools(api: Call) -> ToolList:
    """List the tools."""
    request = tool_pb2.ListToolsRequest()
    tools, installed = await asyncio.gather(
        items(api.services.tools.ListTools, request, "tools", LIST_SECONDS),
        _installed_or_none(api),
    )
    return ToolList(tools=[_definition(tool, installed) for tool in tools])


@routes.get("/tools/{name}", errors=(404,))
async def get_tool(api: Call, name: ToolName) -> ToolDefinition:
    """Get one tool."""
    request = tool_pb2.GetToolRequest(name=name)
    response, installed = await asyncio.gather(
        call(api.services.tools.GetTool, request, LIST_SECONDS), _installed_or_none(api)
    )
    return _definition(response.tool, installed)


@routes.post("/tools/{name}/validate", errors=(404,))
async def validate(api: Call, name: ToolName, body: ToolConfig) -> ToolConfigReport:
    """Validate a tool's configuration."""
    try:
        config = read_struct(body)
    except FieldError as error:
        raise api.json.invalid(error.problem) from None
    request = tool_pb2.ValidateToolConfigRequest(name=name, config=config)
    response = await call(api.services.tools.ValidateToolConfig, request, LIST_SECONDS)
    violations = [Fault.of(each) for each in response.violations]
    return ToolConfigReport(valid=not violations, violations=violations)


async def _installed_or_none(api: Call) -> list[connector_pb2.Connector] | None:
    """Return the connectors, None if they are not known: tools are listed without them."""
    method, request = api.services.connectors.ListConnectors, connector_pb2.ListConnectorsRequest()
    try:
        return await items(method, request, "connectors", LIST_SECONDS)
    except (UnavailableError, DeadlineError):
        return None


def _definition(
    tool: tool_pb2.Tool, installed: Sequence[connector_pb2.Connector] | None
) -> ToolDefinition:
    modes = [_MODES[mode] for mode in tool.modes if mode in _MODES]
    return ToolDefinition.of(
        tool,
        title=tool.title or tool.name,
        config_schema=members(tool.config_schema_json),
        function_name=tool.functions[0].name if tool.functions else tool.name,
        modes=modes,
        connectors=None if installed is None else {m: _usable_with(m, installed) for m in modes},
        effect=_EFFECTS.get(tool.effect, "destructive"),
        functions=[_function(each) for each in tool.functions],
    )


def _usable_with(mode: Mode, installed: Sequence[connector_pb2.Connector]) -> list[str]:
    return [each.name for each in installed if mode != "function" or each.calls_functions]


def _function(function: FunctionDeclaration) -> dict[str, Any]:
    """Return a function as in OpenAI's `tools`."""
    return {
        "type": "function",
        "function": {
            "name": function.name,
            "description": function.description,
            "parameters": members(function.parameters_schema_json),
        },
    }
