"""The member `quota` of an assistant's metadata."""

import math
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion import parse
from heddle_conversion.json_text import same
from heddle_runtime.errors import MalformedAssistantError, PermissionDeniedError
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_administer_in

from heddle_assistants.accounts.model_prices import MICROS
from heddle_assistants.field_checks import require

MEMBER = "quota"
LARGEST = 10**15
"""The highest limit in millionths of a US dollar: practically none, and within 64 bits."""
_PROBLEM = (
    "The quota's cost_limit_usd is not an amount of US dollars: set it to a number, or turn the "
    "quota off."
)


def quota_of(metadata: dict[str, Any]) -> pb.Quota | None:
    """Return the limit in an assistant's metadata; None if there is none.

    An unreadable limit permits no spending: its author meant to set one.
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


def stored_quota(metadata: str | None) -> pb.Quota | None:
    """Return the limit in the text of metadata; None if there is none, or they are malformed."""
    if not metadata or f'"{MEMBER}"' not in metadata:
        return None
    try:
        return quota_of(parse(metadata))
    except MalformedAssistantError:  # it cannot answer either
        return None


def with_limit(document: dict[str, Any], limit_micros: int | None) -> dict[str, Any]:
    """Return metadata with another limit, or without one; other members of a quota stay.

    Raises:
        InvalidRequestError: The limit is below 0 or above `LARGEST`.
    """
    require(0 <= (limit_micros or 0) <= LARGEST, "limit_micros", f"must be from 0 to {LARGEST}")
    quota = document.get(MEMBER)
    members = quota if isinstance(quota, dict) else {}
    limit = None if limit_micros is None else limit_micros / MICROS
    new = {**members, "enabled": limit is not None, "cost_limit_usd": limit}
    return {**document, MEMBER: new}


def keep_quota(
    document: dict[str, Any], stored: dict[str, Any], identity: Identity, slug: str
) -> dict[str, Any]:
    """Return new metadata with the stored quota, unless `identity` may change it.

    An author can set a quota where none is. It stays, whether the author later sends it back or
    leaves it out. The `document` itself is not changed; `stored` is the metadata before. The slug
    is that of the organisation of the assistant.

    Raises:
        PermissionDeniedError: Only an administrator may change this quota.
    """
    if MEMBER not in stored or may_administer_in(identity, slug):
        return document
    if MEMBER not in document:
        return {**document, MEMBER: stored[MEMBER]}
    if same({MEMBER: document[MEMBER]}, {MEMBER: stored[MEMBER]}):
        return document
    raise PermissionDeniedError(
        "Only an administrator of the organisation can change the quota of an assistant. Leave the "
        "quota as it is, or ask an administrator."
    )


def _amount(value: object) -> Decimal | None:
    """Return a number, or the number in a text; None if there is none."""
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
