"""All operations of the gateway, and the OpenAPI document that describes them."""

from functools import cache
from typing import Any

import msgspec
from starlette.responses import Response

from heddle_gateway import error_pages, studio_pages
from heddle_gateway.admin import (
    assistants,
    audit,
    components,
    daily_usage,
    following,
    health,
    keys,
    mcp_servers,
    migration,
    organizations,
    people,
    prices,
    questions,
    quotas,
    rubrics,
    sharing,
    trials,
    usage,
    users,
    versions,
)
from heddle_gateway.http import openapi
from heddle_gateway.http.operations import Access, Operation
from heddle_gateway.lamb import (
    added_documents,
    catalog,
    creator_defaults,
    imports,
    ingestion,
    ingestion_jobs,
    ingestion_plugins,
    kb_settings,
    knowledge_base_files,
    knowledge_bases,
    tool_runs,
)
from heddle_gateway.lamb import assistants as lamb_assistants
from heddle_gateway.login import identity_providers, me, passwords, sign_in
from heddle_gateway.mcp import endpoint
from heddle_gateway.openai import (
    files,
    images,
    models,
    served_images,
    vector_store_documents,
    vector_store_file_batches,
    vector_store_files,
    vector_store_search,
    vector_stores,
)
from heddle_gateway.openai.chat import completions
from heddle_gateway.routing import Call, Routes

_MODULES = (
    *(completions, images, served_images, models),
    *(assistants, versions, sharing, questions, trials, rubrics, usage, daily_usage, audit),
    *(organizations, users, people, keys, prices, quotas, mcp_servers, migration, following),
    *(components, tool_runs, catalog, lamb_assistants, imports, creator_defaults),
    *(files, vector_stores, vector_store_search, vector_store_files, vector_store_file_batches),
    vector_store_documents,
    *(knowledge_bases, knowledge_base_files, ingestion, ingestion_jobs, ingestion_plugins),
    *(added_documents, kb_settings, endpoint, health, studio_pages, error_pages),
    *(me, passwords, sign_in, identity_providers),
)
_service = Routes("service", Access.OPEN)


@_service.get("/openapi.json", content=("application/json",))
async def _openapi(_: Call) -> Response:
    """Return this document."""
    return Response(msgspec.json.encode(document()), media_type="application/json")


OPERATIONS: tuple[Operation, ...] = (
    *(operation for module in _MODULES for operation in module.routes.operations),
    *_service.operations,
)
"""All routes. A path without parameters comes before one that also matches it."""


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document. Callers must not change it."""
    return openapi.document(OPERATIONS)
