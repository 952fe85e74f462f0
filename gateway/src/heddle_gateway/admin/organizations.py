"""`/organizations`: the organisations, and their settings without secrets."""

import json
from typing import Annotated, Any

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import NotFoundError
from pydantic import Field

from heddle_gateway.admin.preconditions import IfNoneMatch, is_for_new
from heddle_gateway.http.models import Model, PageSize, PageToken, StrictModel, Text
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

MAX_NAME = 200
routes = Routes("organizations")
Settings = Annotated[
    dict[str, Any],
    Field(
        description="`providers`, `knowledge_base`, `moodle`, `mcp_servers`, "
        "`global_default_model`, `small_fast_model`, `assistant_defaults`, `prices`, "
        "`output_hosts`, `telemetry`, `retention`, and others, as in LAMB. Each secret is "
        "`********`.",
        examples=[{"providers": {"openai": {"api_key": "********", "models": ["gpt-4o"]}}}],
    ),
]


class OrganizationSummary(Model):
    """An organisation."""

    slug: str
    name: str = Field(description="The name for people.")
    system: bool = Field(description="Whether it is the operator's.")


class StoredOrganization(OrganizationSummary):
    """An organisation with its settings."""

    settings: Settings


class OrganizationPage(Model):
    """A page of organisations."""

    organizations: list[OrganizationSummary]
    next_page_token: str = Field(description="Empty on the last page.")


class OrganizationQuery(Model):
    """The query of the list of organisations."""

    page_size: PageSize
    page_token: PageToken
    text: Text = Field(
        default="", description="Only those whose slug or name contains it, in any case."
    )


class OrganizationBody(StrictModel):
    """An organisation as it shall be."""

    name: Text = Field(
        default="", max_length=MAX_NAME, description="The name for people; unchanged if empty."
    )
    settings: Settings | None = Field(
        default=None,
        description="All settings: what is missing is deleted. `********` keeps a secret as it "
        "is. If null, the settings do not change.",
    )


@routes.get("/organizations", errors=(400,))
async def list_organizations(api: Call, query: OrganizationQuery) -> OrganizationPage:
    """List the organisations that the caller administers, ordered by slug."""
    request = pb.ListOrganizationsRequest(**query.model_dump())
    page = await call(api.services.accounts.ListOrganizations, request)
    return OrganizationPage(
        organizations=[OrganizationSummary.of(each) for each in page.organizations],
        next_page_token=page.next_page_token,
    )


@routes.get("/organizations/{slug}", errors=(404,), headers=ETAG)
async def get(api: Call, slug: Slug) -> StoredOrganization:
    """Get an organisation with its settings, for its administrators."""
    return _stored(api, await read(api, slug))


@routes.put(
    "/organizations/{slug}",
    errors=(404, 409),
    headers=ETAG,
    if_match=True,
    request_headers=IfNoneMatch,
)
async def put(api: Call, slug: Slug, body: OrganizationBody) -> StoredOrganization:
    """Create an organisation, or change its name and settings.

    Only operators create organisations; administrators change their own.
    """
    settings = "" if body.settings is None else json.dumps(body.settings)
    organization = pb.Organization(slug=slug, name=body.name, settings_json=settings)
    request = pb.PutOrganizationRequest(organization=organization, etag=await _etag(api, slug))
    return _stored(api, await call(api.services.accounts.PutOrganization, request))


async def read(api: Call, slug: str) -> pb.GetOrganizationResponse:
    """Return an organisation with its settings."""
    request = pb.GetOrganizationRequest(slug=slug)
    return await call(api.services.accounts.GetOrganization, request)


async def _etag(api: Call, slug: str) -> str:
    """Return the version to replace, empty for a new organisation."""
    if is_for_new(api):
        return ""
    if etag := api.expected_etag():
        return etag
    try:
        return (await read(api, slug)).etag
    except NotFoundError:
        if b"if-match" in api.raw.headers:
            raise
        return ""


def _stored(
    api: Call, response: pb.GetOrganizationResponse | pb.PutOrganizationResponse
) -> StoredOrganization:
    api.set_etag(response.etag)
    api.headers["cache-control"] = "no-store"
    settings = json.loads(response.organization.settings_json or "{}")
    return StoredOrganization.of(response.organization, settings=settings)
