"""`/assistants/{id}/usage`: what an assistant consumed and may spend."""

from typing import TYPE_CHECKING, Any

from heddle.assistant.v1.assistant_pb2 import Quota
from heddle.usage.v1 import usage_pb2 as pb

from heddle_gateway.admin.assistants import TIMEOUT
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

_MICROS = 1_000_000
_COUNTS = [field.name for field in pb.Counts.DESCRIPTOR.fields]


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /assistants/{id}/usage`."""
    request = pb.GetUsageRequest(id=exchange.parameter)
    found = (await ask(state.services.usage.GetUsage, request, TIMEOUT)).usage
    told = {
        "assistant_id": found.assistant_id,
        "cost_usd": _dollars(found.cost_micros),
        "quota": _quota(found.quota) if found.HasField("quota") else None,
        "models": [_model(each) for each in found.models],
    }
    return RawResponse.json(told)


def _model(used: pb.ModelUsage) -> dict[str, Any]:
    return {
        "connector": used.model.connector,
        "model": used.model.model,
        **{name: getattr(used.counts, name) for name in _COUNTS},
        "unpriced_tokens": used.unpriced_tokens,
        "cost_usd": _dollars(used.cost_micros),
    }


def _quota(quota: Quota) -> dict[str, Any]:
    return {
        "limit_usd": _dollars(quota.limit_micros),
        "spent_usd": _dollars(quota.spent_micros),
        "exceeded": quota.spent_micros >= quota.limit_micros,
        "priced": quota.HasField("price"),
        "problem": quota.problem or None,
    }


def _dollars(micros: int) -> float:
    return micros / _MICROS
