"""`/assistants/{id}/quota`: the budget of an assistant."""

import json
from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2
from heddle_runtime.errors import MalformedAssistantError
from pydantic import Field

from heddle_gateway.auth.permissions import check_readable
from heddle_gateway.http.models import AssistantId, StrictModel
from heddle_gateway.openai.models import PREFIX
from heddle_gateway.routing import Call, Routes
from heddle_gateway.routing.transcoded import operation
from heddle_gateway.services import call

_MAX_DOLLARS = 1_000_000_000
_GET_USAGE = operation("usage", usage_pb2.DESCRIPTOR, "GetUsage")
routes = Routes("assistants")


class QuotaBody(StrictModel):
    """The budget of an assistant."""

    limit_usd: Annotated[float, Field(ge=0, le=_MAX_DOLLARS)] | None = Field(
        description="What the assistant may spend, in US dollars; null for no limit."
    )


@routes.put(
    "/assistants/{id}/quota", errors=(403, 404, 409, 422), if_match=True, returns=_GET_USAGE
)
async def put(api: Call, id_: AssistantId, body: QuotaBody) -> Any:  # noqa: ANN401 - as `GetUsage`
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
    return await _GET_USAGE.function(api, id=id_)


def _with_limit(extra_json: str, limit: float | None) -> str:
    """Return the unknown members of an assistant with another limit; others stay as they are."""
    extra: dict[str, Any] = json.loads(extra_json or "{}")
    quota = extra.get("quota")
    members = quota if isinstance(quota, dict) else {}
    extra["quota"] = {**members, "enabled": limit is not None, "cost_limit_usd": limit}
    return json.dumps(extra)
