"""LAMB's lists of what assistants can be made of."""

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
from heddle.assistant.v1.assistant_pb2 import MODE_AGENT, MODE_AUGMENT, MODE_FUNCTION
from heddle.chat.v1.chat_pb2 import FunctionDeclaration
from heddle.connector.v1.connector_pb2 import ListConnectorsRequest, ListModelsRequest
from heddle.orchestrator.v1.orchestrator_pb2 import (
    ListPromptProcessorsRequest,
    ListStrategiesRequest,
)
from heddle.tool.v1.tool_pb2 import (
    GetToolRequest,
    ListToolsRequest,
    Tool,
    ValidateToolConfigRequest,
)
from heddle_runtime.errors import HeddleError, NotFoundError

from heddle_gateway.http import error_responses, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai.chat import run_events
from heddle_gateway.openai.models import LIST_TIMEOUT
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

_MODES = {MODE_AUGMENT: "augment", MODE_FUNCTION: "function", MODE_AGENT: "agent"}
# Names that assistants made before tools had theirs use for the same things.
LEGACY_NAMES = {
    "no_tool": "no_rag",
    "rubric": "rubric_rag",
    "single_file": "single_file_rag",
}


async def tools(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET …/tools`."""
    found = await _tools(state)
    return RawResponse.json({"tools": found, "count": len(found)})


async def tool(state: "State", exchange: RawRequest) -> RawResponse | ErrorResponse:
    """Answer `GET …/tools/{name}`."""
    request = GetToolRequest(name=exchange.parameter)
    try:
        found = await ask(state.services.tools.GetTool, request, LIST_TIMEOUT)
    except HeddleError as error:
        return _failed(exchange.parameter, error)
    return RawResponse.json(definition(found.tool))


async def validate(state: "State", exchange: RawRequest) -> RawResponse | ErrorResponse:
    """Answer `POST …/tools/{name}/validate`: the body is the configuration."""
    given, place = await read_object(state, exchange)
    config = validation.struct(given, place)
    request = ValidateToolConfigRequest(name=exchange.parameter, config=config)
    try:
        found = await ask(state.services.tools.ValidateToolConfig, request, LIST_TIMEOUT)
    except HeddleError as error:
        return _failed(exchange.parameter, error)
    errors = [f"{item.field}: {item.description}" for item in found.violations]
    return RawResponse.json({"valid": not errors, "errors": errors})


async def strategies(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET …/orchestrators`."""
    request = ListStrategiesRequest(page_size=200)
    found = [
        {"name": item.name, "description": item.description}
        async for page in every(state.services.orchestrator.ListStrategies, request, LIST_TIMEOUT)
        for item in page.strategies
    ]
    return RawResponse.json({"orchestrators": found})


async def parts(state: "State", _: RawRequest) -> RawResponse:
    """Answer `GET …/list`: everything that an editor of assistants offers."""
    processors, connectors, found = await asyncio.gather(
        _prompt_processors(state), _connectors(state), _tools(state)
    )
    names = [item["name"] for item in found]
    aliases = [LEGACY_NAMES[name] for name in names if name in LEGACY_NAMES]
    return RawResponse.json(
        {
            "prompt_processors": processors,
            "connectors": connectors,
            "rag_processors": names + [alias for alias in aliases if alias not in names],
            "tools": found,
        }
    )


def definition(found: Tool) -> dict[str, Any]:
    """Return a tool under the names that both of LAMB's clients read."""
    return {
        "name": found.name,
        "display_name": found.title or found.name,
        "description": found.description,
        "placeholder": found.default_slot,
        "category": found.category,
        "config_schema": run_events.members(found.config_schema_json),
        "version": found.version,
        "function_name": found.functions[0].name if found.functions else found.name,
        "modes": [_MODES[mode] for mode in found.modes if mode in _MODES],
        "functions": [_function(each) for each in found.functions],
    }


def _function(declared: FunctionDeclaration) -> dict[str, Any]:
    """Return a function as OpenAI's member `tools` tells a model of it."""
    parameters = run_events.members(declared.parameters_schema_json)
    told = {"name": declared.name, "description": declared.description, "parameters": parameters}
    return {"type": "function", "function": told}


async def _tools(state: "State") -> list[dict[str, Any]]:
    request = ListToolsRequest(page_size=200)
    return [
        definition(item)
        async for page in every(state.services.tools.ListTools, request, LIST_TIMEOUT)
        for item in page.tools
    ]


async def _prompt_processors(state: "State") -> list[str]:
    method = state.services.orchestrator.ListPromptProcessors
    request = ListPromptProcessorsRequest(page_size=200)
    return [
        item.name
        async for page in every(method, request, LIST_TIMEOUT)
        for item in page.prompt_processors
    ]


async def _connectors(state: "State") -> dict[str, dict[str, Any]]:
    """Return the connectors with their models. One whose provider is silent has none."""
    found: dict[str, dict[str, Any]] = {}
    peer = state.services.connectors
    installed = ListConnectorsRequest(page_size=200)
    async for page in every(peer.ListConnectors, installed, LIST_TIMEOUT):
        for item in page.connectors:
            found[item.name] = {"name": item.name, "available_llms": [], "models": []}
    ready = ListModelsRequest(page_size=1000)
    async for page in every(peer.ListModels, ready, LIST_TIMEOUT):
        for item in page.models:
            if (connector := found.get(item.ref.connector)) is not None:
                connector["available_llms"].append(item.ref.model)
                connector["models"].append(
                    {"id": item.ref.model, "name": item.title or item.ref.model}
                )
    return found


def _failed(name: str, error: HeddleError) -> RawResponse | ErrorResponse:
    """Return the failure of a call about one tool, a missing one also in LAMB's form."""
    problem = error_responses.of(error)
    if not isinstance(error, NotFoundError):
        return problem
    body = {**msgspec.json.decode(problem.json()), "detail": f"Tool '{name}' not found"}
    return RawResponse.json(body, problem.status)
