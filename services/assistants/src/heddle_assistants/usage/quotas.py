"""The member `quota` of an assistant's metadata, as LAMB writes it."""

import math
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb

from heddle_assistants.usage.prices import MICROS

MEMBER = "quota"
LARGEST = 10**15
"""Millionths of a US dollar. More is no limit to anybody, and less than what 64 bits hold."""
_PROBLEM = (
    "The quota's cost_limit_usd is not an amount of US dollars: set it to a number, or turn the "
    "quota off."
)


def quota_of(metadata: dict[str, Any]) -> pb.Quota | None:
    """Return the limit in an assistant's metadata, None if it has none or none is set.

    What cannot be read lets nothing be spent: somebody meant to set a limit.
    """
    quota = metadata.get(MEMBER)
    if not isinstance(quota, dict) or not quota.get("enabled"):
        return None
    amount = quota.get("cost_limit_usd")
    if amount is None:
        return None
    limit = _amount(amount)
    if limit is None:
        return pb.Quota(problem=_PROBLEM)
    within = min(max(limit, Decimal(0)), Decimal(LARGEST // MICROS))
    return pb.Quota(limit_micros=int((within * MICROS).to_integral_value(ROUND_HALF_UP)))


def _amount(value: object) -> Decimal | None:
    """Return a number, or the one that a text is; None if it is none."""
    match value:
        case bool():
            return None
        case int():
            return Decimal(value)
        case float() if math.isfinite(value):
            return Decimal(str(value))
        case str():
            try:
                amount = Decimal(value.strip())
            except InvalidOperation:
                return None
            return amount if amount.is_finite() else None
        case _:
            return None
