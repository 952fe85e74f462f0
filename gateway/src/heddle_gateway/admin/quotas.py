"""`/assistants/{id}/quota`, and the usage of many assistants with their quotas."""

import json
from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from heddle_runtime.errors import MalformedAssistantError
from pydantic import Field

from heddle_gateway.admin.usage import Usage, get, usage_members
from heddle_gateway.auth.permissions import check_readable
from heddle_gateway.http.models import Model, PageSize, PageToken, StrictModel, Text
from heddle_gateway.openai.chat.completions import AssistantId
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

_MAX_DOLLARS = 1_000_000_000
routes = Routes("assistants")


class QuotaBody(StrictModel):
    """The budget of an assistant."""

    limit_usd: Annotated[float, Field(ge=0, le=_MAX_DOLLARS)] | None = Field(
        description="What the assistant may spend, in US dollars; null for no limit."
    )


class AssistantUsage(Usage):
    """The usage of an assistant, with whose it is."""

    name: str
    owner: str
    organization: str


class AssistantUsagePage(Model):
    """A page of the usage of assistants."""

    assistants: list[AssistantUsage]
    next_page_token: str = Field(description="Empty on the last page.")


class AssistantUsageQuery(Model):
    """The query of the usage of assistants."""

    page_size: PageSize
    page_token: PageToken
    organization: Text = Field(default="", description="Only assistants of this organisation.")


@routes.get("/usage/assistants", errors=(400,))
async def list_usage(api: Call, query: AssistantUsageQuery) -> AssistantUsagePage:
    """List what assistants used since they were created or reset, and their budgets, by id.

    Those that the caller may change, without those that used nothing.
    """
    request = pb.ListUsageRequest(**query.model_dump())
    page = await call(api.services.usage.ListUsage, request)
    assistants = [
        AssistantUsage(
            **usage_members(each),
            name=each.name,
            owner=each.owner,
            organization=each.organization,
        )
        for each in page.assistants
    ]
    return AssistantUsagePage(assistants=assistants, next_page_token=page.next_page_token)


@routes.put("/assistants/{id}/quota", errors=(403, 404, 409, 422), if_match=True)
async def put(api: Call, id_: AssistantId, body: QuotaBody) -> Usage:
    """Set the budget of an assistant; what it spent so far counts.

    Owners can set a budget where none is. Only administrators change or remove one.
    """
    reference = f"{PREFIX}{id_}"
    get_request = assistant_pb2.GetAssistantRequest(reference=reference)
    stored = await call(api.services.assistants.GetAssistant, get_request)
    check_readable(reference, readable=stored.readable)
    if stored.HasField("malformed_metadata"):
        raise MalformedAssistantError("Repair the assistant first: its metadata is malformed.")
    changed = assistant_pb2.Assistant()
    changed.CopyFrom(stored.assistant)
    changed.extra_json = _with_limit(stored.assistant.extra_json, body.limit_usd)
    request = assistant_pb2.UpdateAssistantRequest(
        assistant=changed, etag=api.expected_etag() or stored.etag
    )
    await call(api.services.assistants.UpdateAssistant, request)
    return await get(api, id_)


def _with_limit(extra_json: str, limit: float | None) -> str:
    """Return the unknown members of an assistant with another limit; others stay as they are."""
    extra: dict[str, Any] = json.loads(extra_json or "{}")
    quota = extra.get("quota")
    members = quota if isinstance(quota, dict) else {}
    extra["quota"] = {**members, "enabled": limit is not None, "cost_limit_usd": limit}
    return json.dumps(extra)
