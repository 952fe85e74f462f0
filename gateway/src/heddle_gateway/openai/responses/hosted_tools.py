"""Hosted tools that clients declare: those of the installation, with the rights of the caller."""

from collections.abc import Iterable
from typing import Any

import msgspec
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.knowledge.v1.knowledge_pb2 import GetCollectionRequest
from heddle.tool.v1.tool_pb2 import AssessToolsRequest, ToolInvocation
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import HeddleError, NotFoundError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.permissions import has

from heddle_gateway.http.error_responses import rejected
from heddle_gateway.http.json_text import Place
from heddle_gateway.openai.chat.options import left_out
from heddle_gateway.openai.responses import schema
from heddle_gateway.services import call
from heddle_gateway.state import State

SEARCH, WEB_SEARCH, MCP = "simple_rag", "web_search", "mcp"
"""Tools of the tools service, and the functions that models see."""
MAX_RESULTS = 20
_RESULTS = 10
_APPROVALS = {"never": pb.CHANGE_POLICY_RUN, "always": pb.CHANGE_POLICY_ASK}
MCP_BINDING = "mcp."
"""The beginning of the identifier of a server's binding, before the client's label."""


class HostedTools(msgspec.Struct, frozen=True):
    """The hosted tools of a request."""

    bindings: tuple[pb.ToolBinding, ...] = ()
    warnings: tuple[str, ...] = ()
    """About those that are left out."""


async def hosted_tools(state: State, tools: Iterable[schema.Tool], place: Place) -> HostedTools:
    """Return the hosted tools among the tools of a request.

    Raises:
        RejectedRequestError: A vector store is none of the caller's, or a filter is not supported.
        HeddleError: The knowledge service does not answer.
    """
    bindings: dict[str, pb.ToolBinding] = {}
    warnings: list[str] = []
    may_run = has(caller().identity, "run_tools")
    for index, tool in enumerate(tools):
        if tool.type not in schema.HOSTED:
            continue
        if may_run and (binding := await _binding(state, tool, place / index)):
            bindings[binding.id] = binding
        else:
            warnings.append(left_out(tool.type))
    return HostedTools((*bindings.values(),), (*dict.fromkeys(warnings),))


async def _binding(state: State, tool: schema.Tool, place: Place) -> pb.ToolBinding | None:
    """Return a tool as a binding; None if the installation does not have it."""
    match tool:
        case schema.FileSearchTool():
            await _check_stores(state, tool, place)
            config: dict[str, Any] = {
                "collections": tool.vector_store_ids,
                "top_k": min(tool.max_num_results or _RESULTS, MAX_RESULTS),
            }
            return _bound(SEARCH, SEARCH, config)
        case schema.McpTool(server_url=None):
            allowed = tool.allowed_tools or []
            names = allowed.get("tool_names", []) if isinstance(allowed, dict) else allowed
            config = {"credential": tool.server_label, "tools": names}
            binding = _bound(f"{MCP_BINDING}{tool.server_label}", MCP, config)
            if isinstance(tool.require_approval, str):
                binding.on_change = _APPROVALS[tool.require_approval]
            return binding
        case _ if tool.type in schema.WEB_SEARCHES and await _has_web_search(state):
            return _bound(WEB_SEARCH, WEB_SEARCH, {})
    return None


def _bound(identifier: str, tool: str, config: dict[str, Any]) -> pb.ToolBinding:
    return pb.ToolBinding(id=identifier, tool=tool, mode=pb.MODE_FUNCTION, config=to_struct(config))


async def _check_stores(state: State, tool: schema.FileSearchTool, place: Place) -> None:
    if tool.filters is not None:
        at = str(place / "filters")
        message = f"{at} is not supported. POST /v1/vector_stores/{{id}}/search has filters."
        raise rejected(at, message, "unsupported_parameter")
    for name in tool.vector_store_ids:
        try:
            await call(state.services.knowledge.GetCollection, GetCollectionRequest(name=name))
        except NotFoundError:
            message = f"Vector store {name[:100]!r} not found."
            at = str(place / "vector_store_ids")
            raise rejected(at, message, "vector_store_not_found") from None


async def _has_web_search(state: State) -> bool:
    request = AssessToolsRequest(invocations=[ToolInvocation(id=WEB_SEARCH, name=WEB_SEARCH)])
    try:
        assessed = await call(state.services.tools.AssessTools, request)
    except HeddleError:
        return False
    return any(each.available for each in assessed.assessments)
