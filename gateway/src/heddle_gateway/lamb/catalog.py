"""The parts of assistants in LAMB's form: tools, connectors, models and strategies."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, Literal

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.tool.v1 import tool_pb2
from heddle_conversion.assistant_json import FieldError, read_struct
from heddle_runtime.enums import enum_names
from heddle_runtime.errors import DeadlineError, NotFoundError, UnavailableError
from heddle_runtime.json_text import members
from pydantic import Field

from heddle_gateway.admin.assistant_schema import Setting
from heddle_gateway.http.models import DocumentedAs, Model
from heddle_gateway.http.operations import Access
from heddle_gateway.openai.chat.completions import LAMB_PATH
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, call, items

Mode = Literal["augment", "function", "agent"]
_MODES = enum_names(assistant_pb2.Mode.DESCRIPTOR)
LEGACY_NAMES = {
    "no_tool": "no_rag",
    "rubric": "rubric_rag",
    "single_file": "single_file_rag",
}
"""Names of the same tools in assistants from before tools had names of their own."""
ToolName = Annotated[str, Field(description="The tool's name.", min_length=1, examples=["rubric"])]
routes = Routes("catalog", Access.OPTIONAL)


class ToolDefinition(Model):
    """A tool, with the names of both of LAMB's clients."""

    name: str
    display_name: str
    label: str = Field(description="A short name, for badges.")
    description: str
    placeholder: str
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
    functions: list[dict[str, Any]] = Field(
        description="The tool's functions, as OpenAI's `tools`. Empty if they depend on its "
        "configuration."
    )


class ToolList(Model):
    """The tools."""

    tools: list[ToolDefinition]
    count: int


class ConnectorModel(Model):
    """A model of a connector."""

    id: str
    name: str


class Connector(Model):
    """A connector and its models."""

    name: str
    available_llms: list[str] = Field(default=[])
    models: list[ConnectorModel] = Field(default=[])
    calls_functions: bool = Field(description="Whether its models can call tools as functions.")


class Catalog(Model):
    """The parts."""

    prompt_processors: list[str]
    connectors: dict[str, Connector]
    rag_processors: list[str]
    tools: list[ToolDefinition]


class Strategy(Model):
    """A strategy."""

    name: str
    description: str


class StrategyList(Model):
    """The strategies."""

    orchestrators: list[Strategy]


ToolConfig = Annotated[dict[str, Any], DocumentedAs(dict[str, Setting])]


class ToolConfigReport(Model):
    """The result of a validation."""

    valid: bool
    errors: list[str]


@routes.get(f"{LAMB_PATH}/tools")
async def list_tools(api: Call) -> ToolList:
    """List the tools."""
    tools = await _tools(api)
    return ToolList(tools=tools, count=len(tools))


@routes.get(f"{LAMB_PATH}/tools/{{name}}", errors=(404,))
async def get_tool(api: Call, name: ToolName) -> ToolDefinition:
    """Get one tool."""
    request = tool_pb2.GetToolRequest(name=name)
    with _lamb_error(name):
        response, installed = await asyncio.gather(
            call(api.services.tools.GetTool, request, LIST_SECONDS), _installed_or_none(api)
        )
    return definition(response.tool, installed)


@routes.post(f"{LAMB_PATH}/tools/{{name}}/validate", access=Access.KEY, errors=(404,))
async def validate(api: Call, name: ToolName, body: ToolConfig) -> ToolConfigReport:
    """Validate a tool's configuration."""
    try:
        config = read_struct(body)
    except FieldError as error:
        raise api.json.invalid(error.problem) from None
    request = tool_pb2.ValidateToolConfigRequest(name=name, config=config)
    with _lamb_error(name):
        response = await call(api.services.tools.ValidateToolConfig, request, LIST_SECONDS)
    errors = [f"{each.field}: {each.description}" for each in response.violations]
    return ToolConfigReport(valid=not errors, errors=errors)


@routes.get(f"{LAMB_PATH}/orchestrators")
async def strategies(api: Call) -> StrategyList:
    """List the strategies, by which assistants run tools."""
    request = orchestrator_pb2.ListStrategiesRequest()
    method = api.services.orchestrator.ListStrategies
    strategies = await items(method, request, "strategies", LIST_SECONDS)
    return StrategyList(orchestrators=[Strategy.of(each) for each in strategies])


@routes.get(f"{LAMB_PATH}/list")
async def catalog(api: Call) -> Catalog:
    """List all parts that an editor of assistants offers.

    With a key, the models are those of the key's organisation.
    """
    method = api.services.orchestrator.ListPromptProcessors
    request = orchestrator_pb2.ListPromptProcessorsRequest()
    processors, connectors, tools = await asyncio.gather(
        items(method, request, "prompt_processors", LIST_SECONDS),
        _connectors(api),
        _tools(api),
    )
    # LAMB puts what a processor returns into the prompt, and knows no functions.
    names = [tool.name for tool in tools if "augment" in tool.modes]
    aliases = [LEGACY_NAMES[name] for name in names if name in LEGACY_NAMES]
    return Catalog(
        prompt_processors=[each.name for each in processors],
        connectors=connectors,
        rag_processors=names + [alias for alias in aliases if alias not in names],
        tools=tools,
    )


def definition(
    tool: tool_pb2.Tool, installed: Sequence[connector_pb2.Connector] | None
) -> ToolDefinition:
    """Return a tool in LAMB's form.

    Args:
        tool: The tool.
        installed: The connectors. None: they are not known.
    """
    modes = [_MODES[mode] for mode in tool.modes if mode in _MODES]
    return ToolDefinition.of(
        tool,
        display_name=tool.title or tool.name,
        placeholder=tool.default_slot,
        config_schema=members(tool.config_schema_json),
        function_name=tool.functions[0].name if tool.functions else tool.name,
        modes=modes,
        connectors=None if installed is None else {m: _usable_with(m, installed) for m in modes},
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


async def _tools(api: Call) -> list[ToolDefinition]:
    request = tool_pb2.ListToolsRequest()
    tools, installed = await asyncio.gather(
        items(api.services.tools.ListTools, request, "tools", LIST_SECONDS),
        _installed_or_none(api),
    )
    return [definition(tool, installed) for tool in tools]


async def _installed(api: Call) -> list[connector_pb2.Connector]:
    method = api.services.connectors.ListConnectors
    return await items(method, connector_pb2.ListConnectorsRequest(), "connectors", LIST_SECONDS)


async def _installed_or_none(api: Call) -> list[connector_pb2.Connector] | None:
    """Return the connectors, None if they are not known: tools are listed without them."""
    try:
        return await _installed(api)
    except (UnavailableError, DeadlineError):
        return None


async def _connectors(api: Call) -> dict[str, Connector]:
    """Return the connectors and their models; none if the provider does not answer."""
    connectors = {
        each.name: Connector(name=each.name, calls_functions=each.calls_functions)
        for each in await _installed(api)
    }
    request = connector_pb2.ListModelsRequest()
    for each in await items(api.services.connectors.ListModels, request, "models", LIST_SECONDS):
        if (connector := connectors.get(each.ref.connector)) is not None:
            model = ConnectorModel(id=each.ref.model, name=each.title or each.ref.model)
            connector.available_llms.append(model.id)
            connector.models.append(model)
    return connectors


@contextmanager
def _lamb_error(name: str) -> Generator[None]:
    """Report a missing tool in the words of LAMB."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(f"Tool '{name}' not found", tool=name) from error
