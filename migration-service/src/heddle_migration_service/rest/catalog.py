"""The parts of assistants in LAMB's form: tools, connectors, models and strategies."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_gateway.admin import connectors as models_of
from heddle_gateway.admin import tool_runs, tools
from heddle_gateway.admin.tools import ToolConfig, ToolDefinition, ToolName
from heddle_gateway.http.models import Model
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import LIST_SECONDS, items
from heddle_runtime.errors import NotFoundError
from pydantic import Field

from heddle_migration_service.rest.chat import PATH

LEGACY_NAMES = {
    "no_tool": "no_rag",
    "rubric": "rubric_rag",
    "single_file": "single_file_rag",
}
"""Names of the same tools in assistants from before tools had names of their own."""
routes = Routes("catalog", Access.OPTIONAL)


class LambTool(ToolDefinition):
    """A tool, with the names of LAMB's clients."""

    title: str = Field(serialization_alias="display_name")
    default_slot: str = Field(serialization_alias="placeholder")


class LambToolList(Model):
    """The tools."""

    tools: list[LambTool]
    count: int


class ConnectorModel(Model):
    """A model of a connector."""

    id: str
    name: str


class Connector(Model):
    """A connector and its models."""

    name: str
    available_llms: list[str]
    models: list[ConnectorModel]
    calls_functions: bool = Field(description="Whether its models can call tools as functions.")


class Catalog(Model):
    """The parts."""

    prompt_processors: list[str]
    connectors: dict[str, Connector]
    rag_processors: list[str]
    tools: list[LambTool]


class Strategy(Model):
    """A strategy."""

    name: str
    description: str


class StrategyList(Model):
    """The strategies."""

    orchestrators: list[Strategy]


class LambToolConfigReport(Model):
    """The result of a validation."""

    valid: bool
    errors: list[str]


@routes.get(f"{PATH}/tools")
async def list_tools(api: Call) -> LambToolList:
    """List the tools."""
    listed = (await tools.list_tools(api)).tools
    return LambToolList(tools=[_lamb_tool(each) for each in listed], count=len(listed))


@routes.get(f"{PATH}/tools/{{name}}", errors=(404,))
async def get_tool(api: Call, name: ToolName) -> LambTool:
    """Get one tool."""
    with _lamb_error(name):
        return _lamb_tool(await tools.get_tool(api, name))


@routes.post(f"{PATH}/tools/{{name}}/validate", access=Access.KEY, errors=(404,))
async def validate(api: Call, name: ToolName, body: ToolConfig) -> LambToolConfigReport:
    """Validate a tool's configuration."""
    with _lamb_error(name):
        report = await tools.validate(api, name, body)
    errors = [f"{each.field}: {each.description}" for each in report.violations]
    return LambToolConfigReport(valid=report.valid, errors=errors)


routes.operations += [replace(it, path=PATH + it.path) for it in tool_runs.routes.operations]


@routes.get(f"{PATH}/orchestrators")
async def strategies(api: Call) -> StrategyList:
    """List the strategies, by which assistants run tools."""
    method = api.services.orchestrator.ListStrategies
    listed = await items(method, pb.ListStrategiesRequest(), "strategies", LIST_SECONDS)
    return StrategyList.model_validate({"orchestrators": listed}, from_attributes=True)


@routes.get(f"{PATH}/list")
async def catalog(api: Call) -> Catalog:
    """List all parts that an editor of assistants offers.

    With a key, the models are those of the key's organisation.
    """
    method = api.services.orchestrator.ListPromptProcessors
    request = pb.ListPromptProcessorsRequest()
    processors, connectors, listed = await asyncio.gather(
        items(method, request, "prompt_processors", LIST_SECONDS),
        models_of.connectors(api),
        list_tools(api),
    )
    # LAMB puts what a processor returns into the prompt, and knows no functions.
    names = [tool.name for tool in listed.tools if "augment" in tool.modes]
    aliases = [LEGACY_NAMES[name] for name in names if name in LEGACY_NAMES]
    return Catalog(
        prompt_processors=[each.name for each in processors],
        connectors={each.name: _lamb_connector(each) for each in connectors.connectors},
        rag_processors=names + [alias for alias in aliases if alias not in names],
        tools=listed.tools,
    )


def _lamb_tool(tool: ToolDefinition) -> LambTool:
    return LambTool.model_validate(tool, from_attributes=True)


def _lamb_connector(connector: models_of.Connector) -> Connector:
    models = [ConnectorModel(id=each.id, name=each.title) for each in connector.models]
    return Connector(
        name=connector.name,
        available_llms=[each.id for each in models],
        models=models,
        calls_functions=connector.calls_functions,
    )


@contextmanager
def _lamb_error(name: str) -> Generator[None]:
    """Report a missing tool in the words of LAMB."""
    try:
        yield
    except NotFoundError as error:
        raise NotFoundError(f"Tool '{name}' not found", tool=name) from error
