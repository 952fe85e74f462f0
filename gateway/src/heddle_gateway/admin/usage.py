"""`/assistants/{id}/usage`: the tokens and the budget of an assistant."""

from typing import Annotated, Any

from heddle.assistant.v1 import assistant_pb2
from heddle.usage.v1 import usage_pb2 as pb
from pydantic import Field

from heddle_gateway.http.models import StrictModel
from heddle_gateway.openai.chat.completions import AssistantId
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

MICROS = 1_000_000
Count = Annotated[int, Field(ge=0)]
Dollars = Annotated[float, Field(ge=0, description="US dollars.")]
routes = Routes("assistants")


class Quota(StrictModel):
    """The budget of an assistant: `quota` in its metadata, if it is enabled and has a limit."""

    limit_usd: Dollars
    spent_usd: Dollars
    exceeded: bool = Field(description="Whether the assistant rejects requests.")
    priced: bool = Field(
        description="Whether the assistant's model has a price. Without one it spends nothing."
    )
    problem: str | None = Field(description="Why the limit cannot be read; it is 0 then.")


class ModelUsage(StrictModel):
    """The usage of one model."""

    connector: str
    model: str
    requests: Count = Field(description="Requests to the model.")
    usage_unknown: Count = Field(
        description="Requests whose tokens are unknown: the provider did not report them, or the "
        "client disconnected before. They are counted without costs."
    )
    prompt_tokens: Count
    cached_tokens: Count = Field(description="Prompt tokens from the provider's cache.")
    completion_tokens: Count
    unpriced_tokens: Count = Field(
        description="Tokens without a known price. They are counted without costs."
    )
    cost_usd: Dollars


class Usage(StrictModel):
    """The usage of an assistant since it was created or its counters were reset."""

    assistant_id: str
    cost_usd: Dollars
    quota: Quota | None
    models: list[ModelUsage]


@routes.get("/assistants/{id}/usage", errors=(404,))
async def get(api: Call, id_: AssistantId) -> Usage:
    """Get the usage of an assistant, and its budget.

    Only those who may change the assistant can see it. Completions are counted about a second after
    they end.
    """
    usage = (await call(api.services.usage.GetUsage, pb.GetUsageRequest(id=id_))).usage
    return Usage(**usage_members(usage))


@routes.post("/assistants/{id}/usage/reset", errors=(404,))
async def reset(api: Call, id_: AssistantId) -> Usage:
    """Count the usage of an assistant anew, as quotas do. Only for administrators.

    The usage of days, `/usage`, stays.
    """
    await call(api.services.usage.ResetUsage, pb.ResetUsageRequest(id=id_))
    return await get(api, id_)


def usage_members(usage: pb.AssistantUsage) -> dict[str, Any]:
    """Return the members of the usage of an assistant."""
    return {
        "assistant_id": usage.assistant_id,
        "cost_usd": usage.cost_micros / MICROS,
        "quota": _quota(usage.quota) if usage.HasField("quota") else None,
        "models": [_model(each) for each in usage.models],
    }


def _model(usage: pb.ModelUsage) -> ModelUsage:
    return ModelUsage.of(
        usage.counts,
        connector=usage.model.connector,
        model=usage.model.model,
        unpriced_tokens=usage.unpriced_tokens,
        cost_usd=usage.cost_micros / MICROS,
    )


def _quota(quota: assistant_pb2.Quota) -> Quota:
    return Quota(
        limit_usd=quota.limit_micros / MICROS,
        spent_usd=quota.spent_micros / MICROS,
        exceeded=quota.spent_micros >= quota.limit_micros,
        priced=quota.HasField("price"),
        problem=quota.problem or None,
    )
