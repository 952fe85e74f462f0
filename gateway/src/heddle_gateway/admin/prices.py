"""`/organizations/{slug}/prices`: what models cost."""

import json
from typing import Annotated, Any

from heddle.account.v1 import account_pb2
from heddle.usage.v1 import usage_pb2
from pydantic import Field

from heddle_gateway.admin.organizations import read
from heddle_gateway.http.models import StrictModel
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.routing.transcoded import operation
from heddle_gateway.services import call

_MAX_DOLLARS = 1_000_000
Dollars = Annotated[
    float, Field(ge=0, le=_MAX_DOLLARS, description="US dollars for a million tokens.")
]
Pattern = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*/[^*]*\*?$",
        description="`connector/model`; a name that ends in `*` stands for all that begin so.",
    ),
]
_LIST_PRICES = operation("usage", usage_pb2.DESCRIPTOR, "ListPrices")
routes = Routes("usage")


class PriceBody(StrictModel):
    """The price of a model."""

    input: Dollars
    cached_input: Dollars | None = Field(default=None, description="By default that of `input`.")
    output: Dollars


class PricesBody(StrictModel):
    """The own prices of an organisation."""

    prices: dict[Pattern, PriceBody] = Field(
        description="By name. They come before those of the operator's file.",
        examples=[{"openai/gpt-x": {"input": 2.5, "output": 10}}],
    )


@routes.put(
    "/organizations/{slug}/prices",
    errors=(404, 409),
    headers=ETAG,
    if_match=True,
    returns=_LIST_PRICES,
)
async def put(api: Call, slug: Slug, body: PricesBody) -> Any:  # noqa: ANN401 - as `ListPrices`
    """Replace the own prices of an organisation. Only for its administrators.

    They count for usage from then on, after at most five seconds. The ETag is that of the
    organisation.
    """
    stored = await read(api, slug)
    settings = json.loads(stored.organization.settings_json or "{}")
    settings["prices"] = {
        name: price.model_dump(exclude_none=True) for name, price in body.prices.items()
    }
    _forget_inner(settings)
    organization = account_pb2.Organization(slug=slug, settings_json=json.dumps(settings))
    request = account_pb2.PutOrganizationRequest(
        organization=organization, etag=api.expected_etag() or stored.etag
    )
    await call(api.services.accounts.PutOrganization, request)
    return await _LIST_PRICES.function(api, slug=slug)


def _forget_inner(settings: dict[str, object]) -> None:
    """Delete the prices at the other place of settings, which would be merged."""
    setups = settings.get("setups")
    default = setups.get("default") if isinstance(setups, dict) else None
    if isinstance(default, dict):
        default.pop("prices", None)
