"""`/rubrics`: assessment rubrics, for frontends and programs."""

from typing import Annotated, Any, Literal

import msgspec
from heddle.rubric.v1 import rubric_pb2 as pb
from heddle_runtime.errors import InvalidRequestError
from pydantic import ConfigDict, Field

from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.json_text import parse
from heddle_gateway.http.models import (
    Deleted,
    DocumentedAs,
    Identifier,
    Model,
    Name,
    PageSize,
    PageToken,
    StrictModel,
    Text,
    Timestamp,
    identifier,
)
from heddle_gateway.routing import ETAG, LOCATION, Call, Routes
from heddle_gateway.services import call

EXAMPLE: dict[str, Any] = {
    "title": "Essay",
    "description": "How an essay is assessed.",
    "scoringType": "points",
    "maxScore": 10,
    "criteria": [
        {
            "id": "argument",
            "name": "Argument",
            "description": "Has a claim and defends it.",
            "weight": 100,
            "levels": [
                {"id": "strong", "score": 4, "label": "Strong", "description": "Clear and sharp."},
                {"id": "weak", "score": 1, "label": "Weak", "description": "Has no claim."},
            ],
        }
    ],
}
RubricId = Annotated[str, identifier("The rubric's identifier, which the tool `rubric` uses.")]
routes = Routes("rubrics")


class Level(Model):
    """A level of a criterion."""

    id: Name
    score: float
    label: Name
    description: str


class Criterion(Model):
    """A criterion."""

    id: Name
    name: Name
    description: str
    weight: float = Field(ge=0)
    levels: list[Level] = Field(min_length=2)


class RubricContent(Model):
    """A rubric in LAMB's form. Other members are stored, too.

    The service sets `rubricId` and the times in `metadata`.
    """

    title: Text = Field(min_length=1)
    description: Text
    criteria: list[Criterion] = Field(min_length=1)
    scoringType: Literal["points", "percentage", "holistic", "single-point", "checklist"]  # noqa: N815 - LAMB's name
    maxScore: float = Field(gt=0)  # noqa: N815 - LAMB's name
    metadata: dict[str, Any] = Field(default={})


class RubricBody(StrictModel):
    """A rubric. Other members of a response may be sent back; they change nothing."""

    id: Identifier | None = Field(default=None, description="If set, the identifier of the path.")
    owner: Annotated[Text, Field(max_length=320)] | None = Field(
        default=None,
        description="An e-mail address, by default the caller's. Another one needs an "
        "administrator.",
    )
    public: bool | None = Field(
        default=None, description="Whether others of the organisation may read it."
    )
    content: Annotated[dict[str, Any], DocumentedAs(RubricContent)]
    organization: Any = None
    title: Any = None
    description: Any = None
    created: Any = None
    updated: Any = None

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"public": True, "content": EXAMPLE}]}
    )


class RubricSummary(StrictModel):
    """A rubric without its content."""

    id: str
    owner: str
    organization: str
    public: bool = Field(description="Whether others of the organisation may read it.")
    title: str
    description: str
    created: Timestamp
    updated: Timestamp


class StoredRubric(RubricSummary):
    """A rubric."""

    content: Annotated[Any, Field(json_schema_extra={"type": ["object", "null"]})] = Field(
        description="The rubric itself; null if LAMB stored something that is no JSON object."
    )


class RubricPage(Model):
    """A page of rubrics."""

    rubrics: list[RubricSummary]
    next_page_token: str = Field(description="Empty on the last page.")


class RubricQuery(Model):
    """The query of the list of rubrics."""

    page_size: PageSize
    page_token: PageToken
    selection: Literal["readable", "own"] = Field(
        default="readable",
        description="All rubrics that the caller may read (its own and the public ones of the "
        "organisation), or its own only.",
    )


@routes.get("/rubrics", errors=(400,))
async def list_rubrics(api: Call, query: RubricQuery) -> RubricPage:
    """List rubrics, the oldest first."""
    request = pb.ListRubricsRequest(
        page_size=query.page_size, page_token=query.page_token, own=query.selection == "own"
    )
    page = await call(api.services.rubrics.ListRubrics, request)
    rubrics = [RubricSummary.of(each, **_times(each)) for each in page.rubrics]
    return RubricPage(rubrics=rubrics, next_page_token=page.next_page_token)


@routes.get("/rubrics/{id}", errors=(400, 404), headers=ETAG)
async def get(api: Call, id_: RubricId) -> StoredRubric:
    """Get a rubric."""
    return _stored(api, await call(api.services.rubrics.GetRubric, pb.GetRubricRequest(id=id_)))


@routes.post("/rubrics", status=201, headers={**ETAG, **LOCATION})
async def create(api: Call, body: RubricBody) -> StoredRubric:
    """Create a rubric. `id` is ignored."""
    request = pb.CreateRubricRequest(rubric=_rubric(api, body))
    response = await call(api.services.rubrics.CreateRubric, request)
    api.headers["location"] = f"/rubrics/{response.rubric.id}"
    return _stored(api, response)


@routes.put("/rubrics/{id}", errors=(404, 409), headers=ETAG, if_match=True)
async def update(api: Call, id_: RubricId, body: RubricBody) -> StoredRubric:
    """Replace a rubric. Without `public` only its owner may read it.

    Content that is stored already may have any form.
    """
    rubric = _rubric(api, body)
    if rubric.id and rubric.id != id_:
        raise invalid("id", "is not the rubric of the path")
    rubric.id = id_
    request = pb.UpdateRubricRequest(rubric=rubric, etag=api.expected_etag())
    return _stored(api, await call(api.services.rubrics.UpdateRubric, request))


@routes.delete("/rubrics/{id}", errors=(400, 404, 409), if_match=True)
async def delete(api: Call, id_: RubricId) -> Deleted:
    """Delete a rubric permanently."""
    request = pb.DeleteRubricRequest(id=id_, etag=api.expected_etag())
    await call(api.services.rubrics.DeleteRubric, request)
    return Deleted(id=id_)


def _rubric(api: Call, body: RubricBody) -> pb.Rubric:
    return pb.Rubric(
        id=body.id or "",
        owner=body.owner or "",
        public=bool(body.public),
        content_json=api.json.at("content").text(),
    )


def _times(rubric: pb.Rubric) -> dict[str, int]:
    return {"created": rubric.create_time.seconds, "updated": rubric.update_time.seconds}


def _stored(
    api: Call,
    response: pb.GetRubricResponse | pb.CreateRubricResponse | pb.UpdateRubricResponse,
) -> StoredRubric:
    api.set_etag(response.etag)
    rubric = response.rubric
    return StoredRubric.of(rubric, content=_content(rubric.content_json), **_times(rubric))


def _content(text: str) -> msgspec.Raw | None:
    """Return the content byte for byte; None if it is no JSON object, as LAMB's may be."""
    try:
        parse(text.encode())
    except InvalidRequestError:
        return None
    return msgspec.Raw(text.encode())
