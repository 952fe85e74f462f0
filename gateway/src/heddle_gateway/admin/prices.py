"""`/organizations/{slug}/prices`: what models cost."""

import json
from typing import Annotated

from heddle.account.v1 import account_pb2
from heddle.assistant.v1.assistant_pb2 import Price as PriceMessage
from heddle.usage.v1 import usage_pb2 as pb
from pydantic import Field

from heddle_gateway.admin.organizations import read
from heddle_gateway.admin.usage import MICROS
from heddle_gateway.http.models import Model, StrictModel
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import ETAG, Call, Routes
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
routes = Routes("usage")


class PriceBody(StrictModel):
    """The price of a model."""

    input: Dollars
    cached_input: Dollars | None = Field(default=None, description="By default that of `input`.")
    output: Dollars


class Price(Model):
    """The price of the models of a name."""

    name: str = Field(
        description="`connector/model`; a name that ends in `*` stands for all that begin so."
    )
    input: Dollars
    cached_input: Dollars
    output: Dollars
    own: bool = Field(
        description="Whether the organisation has set it. Otherwise it is from the operator's file."
    )


class PriceList(Model):
    """The prices that count for the assistants of an organisation."""

    prices: list[Price]


class PricesBody(StrictModel):
    """The own prices of an organisation."""

    prices: dict[Pattern, PriceBody] = Field(
        description="By name. They come before those of the operator's file.",
        examples=[{"openai/gpt-x": {"input": 2.5, "output": 10}}],
    )


@routes.get("/organizations/{slug}/prices", errors=(404,), headers=ETAG)
async def get(api: Call, slug: Slug) -> PriceList:
    """List the prices that count for an organisation. Only for its administrators."""
    organization = await read(api, slug)
    api.set_etag(organization.etag)
    return await _listed(api, slug)


@routes.put("/organizations/{slug}/prices", errors=(404, 409), headers=ETAG, if_match=True)
async def put(api: Call, slug: Slug, body: PricesBody) -> PriceList:
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
    response = await call(api.services.accounts.PutOrganization, request)
    api.set_etag(response.etag)
    return await _listed(api, slug)


def _forget_inner(settings: dict[str, object]) -> None:
    """Delete the prices at the other place where LAMB has settings, which would be merged."""
    setups = settings.get("setups")
    default = setups.get("default") if isinstance(setups, dict) else None
    if isinstance(default, dict):
        default.pop("prices", None)


async def _listed(api: Call, slug: str) -> PriceList:
    request = pb.ListPricesRequest(organization=slug)
    response = await call(api.services.usage.ListPrices, request)
    prices = [_price(each.name, each.price, own=each.own) for each in response.prices]
    return PriceList(prices=prices)


def _price(name: str, price: PriceMessage, *, own: bool) -> Price:
    return Price(
        name=name,
        input=price.input_micros / MICROS,
        cached_input=price.cached_input_micros / MICROS,
        output=price.output_micros / MICROS,
        own=own,
    )
