"""The parts of assistants in LAMB's form: tools, connectors, models and strategies."""

import asyncio
from typing import Annotated, Any, Literal

import msgspec
from heddle.assistant.v1.assistant_pb2 import MODE_AGENT, MODE_AUGMENT, MODE_FUNCTION
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest, ListModelsRequest
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import HeddleError, NotFoundError
from pydantic import Field, RootModel
from starlette.responses import Response

from heddle_gateway.admin.assistant_schema import Setting
from heddle_gateway.http import validation
from heddle_gateway.http.error_responses import from_error
from heddle_gateway.http.models import DocumentedAs, Model
from heddle_gateway.http.operations import Access
from heddle_gateway.openai.chat.completions import LAMB_PATH
from heddle_gateway.openai.chat.run_events import members
from heddle_gateway.openai.models import LIST_TIMEOUT
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call, pages
from heddle_gateway.state import State

Mode = Literal["augment", "function", "agent"]
_MODES: dict[int, Mode] = {
    MODE_AUGMENT: "augment",
    MODE_FUNCTION: "function",
    MODE_AGENT: "agent",
}
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
    description: str
    placeholder: str
    category: str
    config_schema: dict[str, Any] = Field(description="A JSON schema.")
    version: str
    function_name: str = Field(description="The name by which models call the tool.")
    modes: list[Mode] = Field(description="The ways in which an assistant can bind the tool.")
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


class ToolConfig(RootModel[dict[str, Setting]]):
    """The configuration of a tool."""


class ToolConfigJson(RootModel[Annotated[dict[str, Any], DocumentedAs(ToolConfig)]]):
    """The configuration of a tool."""


class ToolConfigReport(Model):
    """The result of a validation."""

    valid: bool
    errors: list[str]


@routes.get(f"{LAMB_PATH}/tools")
async def list_tools(api: Call) -> ToolList:
    """List the tools."""
    tools = await _tools(api.state)
    return ToolList(tools=tools, count=len(tools))


@routes.get(f"{LAMB_PATH}/tools/{{name}}", errors=(404,), returns=ToolDefinition)
async def get_tool(api: Call, name: ToolName) -> ToolDefinition | Response:
    """Get one tool."""
    request = tool_pb2.GetToolRequest(name=name)
    try:
        response = await call(api.state.services.tools.GetTool, request, LIST_TIMEOUT)
    except NotFoundError as error:
        return _missing_tool(name, error)
    return definition(response.tool)


@routes.post(
    f"{LAMB_PATH}/tools/{{name}}/validate",
    access=Access.KEY,
    errors=(404,),
    returns=ToolConfigReport,
)
async def validate(api: Call, name: ToolName, body: ToolConfigJson) -> ToolConfigReport | Response:
    """Validate a tool's configuration."""
    config = validation.struct(body.root, api.json)
    request = tool_pb2.ValidateToolConfigRequest(name=name, config=config)
    try:
        response = await call(api.state.services.tools.ValidateToolConfig, request, LIST_TIMEOUT)
    except NotFoundError as error:
        return _missing_tool(name, error)
    errors = [f"{each.field}: {each.description}" for each in response.violations]
    return ToolConfigReport(valid=not errors, errors=errors)


@routes.get(f"{LAMB_PATH}/orchestrators")
async def strategies(api: Call) -> StrategyList:
    """List the strategies, by which assistants run tools."""
    request = orchestrator_pb2.ListStrategiesRequest(page_size=200)
    method = api.state.services.orchestrator.ListStrategies
    return StrategyList(
        orchestrators=[
            Strategy(name=each.name, description=each.description)
            async for page in pages(method, request, LIST_TIMEOUT)
            for each in page.strategies
        ]
    )


@routes.get(f"{LAMB_PATH}/list")
async def catalog(api: Call) -> Catalog:
    """List all parts that an editor of assistants offers.

    With a key, the models are those of the key's organisation.
    """
    processors, connectors, tools = await asyncio.gather(
        _prompt_processors(api.state), _connectors(api.state), _tools(api.state)
    )
    names = [tool.name for tool in tools]
    aliases = [LEGACY_NAMES[name] for name in names if name in LEGACY_NAMES]
    return Catalog(
        prompt_processors=processors,
        connectors=connectors,
        rag_processors=names + [alias for alias in aliases if alias not in names],
        tools=tools,
    )


def definition(tool: tool_pb2.Tool) -> ToolDefinition:
    """Return a tool in LAMB's form."""
    return ToolDefinition(
        name=tool.name,
        display_name=tool.title or tool.name,
        description=tool.description,
        placeholder=tool.default_slot,
        category=tool.category,
        config_schema=members(tool.config_schema_json),
        version=tool.version,
        function_name=tool.functions[0].name if tool.functions else tool.name,
        modes=[_MODES[mode] for mode in tool.modes if mode in _MODES],
        functions=[_function(each) for each in tool.functions],
    )


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


async def _tools(state: State) -> list[ToolDefinition]:
    request = tool_pb2.ListToolsRequest(page_size=200)
    return [
        definition(tool)
        async for page in pages(state.services.tools.ListTools, request, LIST_TIMEOUT)
        for tool in page.tools
    ]


async def _prompt_processors(state: State) -> list[str]:
    method = state.services.orchestrator.ListPromptProcessors
    request = orchestrator_pb2.ListPromptProcessorsRequest(page_size=200)
    return [
        processor.name
        async for page in pages(method, request, LIST_TIMEOUT)
        for processor in page.prompt_processors
    ]


async def _connectors(state: State) -> dict[str, Connector]:
    """Return the connectors and their models; none if the provider does not answer."""
    connectors: dict[str, Connector] = {}
    client = state.services.connectors
    installed = ListConnectorsRequest(page_size=200)
    async for page in pages(client.ListConnectors, installed, LIST_TIMEOUT):
        for item in page.connectors:
            connectors[item.name] = Connector(name=item.name)
    available = ListModelsRequest(page_size=1000)
    async for page in pages(client.ListModels, available, LIST_TIMEOUT):
        for item in page.models:
            if (connector := connectors.get(item.ref.connector)) is not None:
                model = ConnectorModel(id=item.ref.model, name=item.title or item.ref.model)
                connector.available_llms.append(model.id)
                connector.models.append(model)
    return connectors


def _missing_tool(name: str, error: HeddleError) -> Response:
    """Return the error for a missing tool, also in LAMB's form."""
    response = from_error(error)
    body = {**msgspec.json.decode(response.json()), "detail": f"Tool '{name}' not found"}
    return Response(msgspec.json.encode(body), response.status, media_type="application/json")
