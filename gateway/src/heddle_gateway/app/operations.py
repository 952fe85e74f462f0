"""All operations of the gateway, and the OpenAPI document that describes them."""

from collections.abc import Iterable
from functools import cache
from typing import Any

import msgspec
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2, prompts_pb2, questions_pb2, sharing_pb2, versions_pb2
from heddle.audit.v1 import audit_pb2
from heddle.connector.v1 import connector_pb2
from heddle.conversation.v1 import conversation_pb2
from heddle.group.v1 import group_pb2, insights_pb2
from heddle.orchestrator.v1 import orchestrator_pb2
from heddle.rubric.v1 import rubric_pb2
from heddle.tool.v1 import tool_pb2
from heddle.usage.v1 import usage_pb2
from starlette.responses import Response

from heddle_gateway import studio_pages
from heddle_gateway.admin import (
    assistants,
    connectors,
    copies,
    health,
    people,
    tool_runs,
    tools,
    trials,
)
from heddle_gateway.extensions import Extension
from heddle_gateway.http import openapi
from heddle_gateway.http.operations import Access, Operation
from heddle_gateway.login import identity_providers, me, passwords, sign_in
from heddle_gateway.mcp import endpoint, tool_server
from heddle_gateway.openai import (
    embeddings,
    files,
    images,
    models,
    served_images,
    text_completions,
    vector_store_documents,
    vector_store_file_batches,
    vector_store_files,
    vector_store_search,
    vector_stores,
)
from heddle_gateway.openai.anthropic import endpoint as messages
from heddle_gateway.openai.batches import endpoint as batches
from heddle_gateway.openai.chat import completions
from heddle_gateway.openai.conversations import cited_pages
from heddle_gateway.openai.conversations import endpoint as conversations
from heddle_gateway.openai.models import offer_only
from heddle_gateway.openai.responses import endpoint as responses
from heddle_gateway.pages import documentation, errors
from heddle_gateway.routing import Call, Routes
from heddle_gateway.routing.transcoded import operations as transcoded_operations

_MODULES = (
    *(
        completions,
        text_completions,
        responses,
        conversations,
        cited_pages,
        batches,
        messages,
        images,
        served_images,
        models,
    ),
    *(assistants, copies, trials),
    *(people, connectors, tool_server, tools, tool_runs, files),
    *(vector_stores, vector_store_search, vector_store_files, vector_store_file_batches),
    *(vector_store_documents, embeddings, endpoint, health, studio_pages),
    *(errors, documentation),
    *(me, passwords, sign_in, identity_providers),
)
# By the name of the client in `ServiceClients`.
_CONTRACTS = {
    "accounts": account_pb2,
    "assistants": assistant_pb2,
    "audit": audit_pb2,
    "connectors": connector_pb2,
    "conversations": conversation_pb2,
    "groups": group_pb2,
    "insights": insights_pb2,
    "orchestrator": orchestrator_pb2,
    "prompts": prompts_pb2,
    "questions": questions_pb2,
    "rubrics": rubric_pb2,
    "sharing": sharing_pb2,
    "tools": tool_pb2,
    "usage": usage_pb2,
    "versions": versions_pb2,
}
_REVISIONS = {"ListAssistants": offer_only}
_service = Routes("service", Access.OPEN)


@_service.get("/openapi.json", content=("application/json",))
async def _openapi(api: Call) -> Response:
    """Return this document."""
    content = msgspec.json.encode(document(tuple(api.state.extensions)))
    return Response(content, media_type="application/json")


def operations(extensions: Iterable[Extension]) -> list[Operation]:
    """Return all routes, those of extensions in place of others at the same path."""
    served = (
        *(operation for module in _MODULES for operation in module.routes.operations),
        *(
            operation
            for client, contract in _CONTRACTS.items()
            for operation in transcoded_operations(client, contract.DESCRIPTOR, _REVISIONS)
        ),
        *_service.operations,
        *(operation for each in extensions for operation in each.operations),
    )
    return list({(each.method, each.path): each for each in served}.values())


@cache
def document(extensions: tuple[Extension, ...]) -> dict[str, Any]:
    """Return the OpenAPI document of a gateway with `extensions`. Callers must not change it."""
    tags = {name: text for each in extensions for name, text in each.tags.items()}
    return openapi.document(operations(extensions), tags)
