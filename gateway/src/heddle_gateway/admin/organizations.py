"""`/organizations`: the organisations, and their settings without secrets."""

import json
from typing import Annotated, Any

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import NotFoundError
from pydantic import Field

from heddle_gateway.http.models import IfNoneMatch, StrictModel, Text
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.routing.transcoded import operation
from heddle_gateway.services import call

_GET_ORGANIZATION = operation("accounts", pb.DESCRIPTOR, "GetOrganization")
routes = Routes("organizations")
Settings = Annotated[
    dict[str, Any],
    Field(
        description="`providers`, `knowledge_base`, `moodle`, `mcp_servers`, "
        "`global_default_model`, `small_fast_model`, `assistant_defaults`, `prices`, "
        "`output_hosts`, `telemetry`, `retention`, and others. Each secret is `********`.",
        examples=[{"providers": {"openai": {"api_key": "********", "models": ["gpt-4o"]}}}],
    ),
]


class OrganizationBody(StrictModel):
    """An organisation as it shall be."""

    name: Text = Field(
        default="", max_length=200, description="The name for people; unchanged if empty."
    )
    settings: Settings | None = Field(
        default=None,
        description="All settings: what is missing is deleted. `********` keeps a secret as it "
        "is. If null, the settings do not change.",
    )


@routes.put(
    "/organizations/{slug}",
    errors=(404, 409),
    headers=ETAG,
    if_match=True,
    request_headers=IfNoneMatch,
    returns=_GET_ORGANIZATION,
)
async def put(api: Call, slug: Slug, body: OrganizationBody) -> Any:  # noqa: ANN401 - as `GetOrganization`
    """Create an organisation, or change its name and settings.

    Only operators create organisations; administrators change their own.
    """
    settings = "" if body.settings is None else json.dumps(body.settings)
    organization = pb.Organization(slug=slug, name=body.name, settings_json=settings)
    request = pb.PutOrganizationRequest(organization=organization, etag=await _etag(api, slug))
    response = await call(api.services.accounts.PutOrganization, request)
    return _GET_ORGANIZATION.answer(api, response)


async def read(api: Call, slug: str) -> pb.GetOrganizationResponse:
    """Return an organisation with its settings."""
    request = pb.GetOrganizationRequest(slug=slug)
    return await call(api.services.accounts.GetOrganization, request)


async def _etag(api: Call, slug: str) -> str:
    """Return the version to replace, empty for a new organisation."""
    if api.must_be_new():
        return ""
    if etag := api.expected_etag():
        return etag
    try:
        return (await read(api, slug)).etag
    except NotFoundError:
        if b"if-match" in api.raw.headers:
            raise
        return ""
