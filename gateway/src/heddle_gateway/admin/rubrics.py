"""`/rubrics`: assessment rubrics, for frontends and programs."""

from typing import TYPE_CHECKING, Any

import msgspec
from heddle.rubric.v1 import rubric_pb2 as pb
from heddle_runtime.errors import InvalidRequestError

from heddle_gateway.admin.assistants import LARGEST_PAGE, TIMEOUT
from heddle_gateway.http import etags, query_parameters, validation
from heddle_gateway.http.body import read_object
from heddle_gateway.http.headers import Headers
from heddle_gateway.http.json_text import Place, parse
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.services import ask

if TYPE_CHECKING:
    from heddle_gateway.state import State

SELECTIONS = ("readable", "own")
# What an answer tells besides; sent back, it changes nothing.
_TOLD = ("organization", "title", "description", "created", "updated")


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /rubrics`."""
    request = pb.ListRubricsRequest(
        page_size=query_parameters.whole(exchange, "page_size", 0, low=1, high=LARGEST_PAGE),
        page_token=query_parameters.text(exchange, "page_token"),
        own=query_parameters.choice(exchange, "selection", SELECTIONS) == "own",
    )
    page = await ask(state.services.rubrics.ListRubrics, request, TIMEOUT)
    found = [_summary(each) for each in page.rubrics]
    return RawResponse.json({"rubrics": found, "next_page_token": page.next_page_token})


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /rubrics/{id}`."""
    request = pb.GetRubricRequest(id=exchange.parameter)
    found = await ask(state.services.rubrics.GetRubric, request, TIMEOUT)
    return _reply(found.rubric, found.etag)


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /rubrics`."""
    given, place = await read_object(state, exchange)
    request = pb.CreateRubricRequest(rubric=_rubric(given, place))
    made = await ask(state.services.rubrics.CreateRubric, request, TIMEOUT)
    location = ((b"location", f"/rubrics/{made.rubric.id}".encode()),)
    return _reply(made.rubric, made.etag, status=201, headers=location)


async def update(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `PUT /rubrics/{id}`: the body is the whole rubric."""
    given, place = await read_object(state, exchange)
    changed = _rubric(given, place)
    if changed.id and changed.id != exchange.parameter:
        raise place.at("id").wrong("is not the rubric that the address names")
    changed.id = exchange.parameter
    request = pb.UpdateRubricRequest(rubric=changed, etag=etags.expected(exchange))
    kept = await ask(state.services.rubrics.UpdateRubric, request, TIMEOUT)
    return _reply(kept.rubric, kept.etag)


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /rubrics/{id}`."""
    request = pb.DeleteRubricRequest(id=exchange.parameter, etag=etags.expected(exchange))
    await ask(state.services.rubrics.DeleteRubric, request, TIMEOUT)
    return RawResponse.json({"id": exchange.parameter, "deleted": True})


def _rubric(given: dict[str, Any], place: Place) -> pb.Rubric:
    """Return the rubric that a body describes, whole; what the service sets is not read."""
    for name in given:
        if name not in ("id", "owner", "public", "content", *_TOLD):
            raise place.at(name).wrong("is not known here; a rubric itself stands in content")
    validation.mapping(given.get("content"), place, "content")
    read = pb.Rubric(content_json=place.at("content").text())
    for name in ("id", "owner"):
        if (value := given.get(name)) is not None:
            setattr(read, name, validation.text(value, place, name))
    if (public := given.get("public")) is not None:
        read.public = validation.flag(public, place, "public")
    return read


def _summary(found: pb.Rubric) -> dict[str, Any]:
    return {
        "id": found.id,
        "owner": found.owner,
        "organization": found.organization,
        "public": found.public,
        "title": found.title,
        "description": found.description,
        "created": found.create_time.seconds,
        "updated": found.update_time.seconds,
    }


def _reply(found: pb.Rubric, etag: str, *, status: int = 200, headers: Headers = ()) -> RawResponse:
    answer = RawResponse.json({**_summary(found), "content": _content(found.content_json)}, status)
    return RawResponse(status, answer.body, (*answer.headers, *etags.header(etag), *headers))


def _content(text: str) -> msgspec.Raw | None:
    """Return the content as it is kept; None if it is no JSON object, as LAMB's may be none."""
    try:
        parse(text.encode())
    except InvalidRequestError:
        return None
    return msgspec.Raw(text.encode())
