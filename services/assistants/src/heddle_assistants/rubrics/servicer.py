"""`heddle.rubric.v1.RubricService`."""

from functools import partial
from typing import Any

from heddle.rubric.v1 import rubric_pb2 as pb
from heddle.rubric.v1 import rubric_pb2_grpc as pb_grpc
from heddle_conversion.identifiers import timestamp
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.identity.call_metadata import Context, caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.permissions import may_read, require_service

from heddle_assistants.field_checks import require
from heddle_assistants.library.store import RUBRIC, Allowed, Columns, Library, Row, check_owner
from heddle_assistants.rubrics.content import check, completed, is_unchanged, read


class RubricServicer(pb_grpc.RubricServiceServicer):
    """Translates between the contract and the table, and enforces the permissions."""

    def __init__(self, rubrics: Library) -> None:
        self._rubrics = rubrics

    async def GetRubric(
        self, request: pb.GetRubricRequest, context: Context
    ) -> pb.GetRubricResponse:
        """Return a rubric, to the caller or for the owner of an assistant."""
        row = await self._rubrics.get(request.id, await self._rule(request))
        return pb.GetRubricResponse(rubric=_message(row), etag=row.etag)

    async def ListRubrics(
        self, request: pb.ListRubricsRequest, context: Context
    ) -> pb.ListRubricsResponse:
        """List the rubrics that the caller may read."""
        own = request.selection == pb.RUBRIC_SELECTION_OWN
        shown, token = await self._rubrics.page(request, _summary, own=own)
        return pb.ListRubricsResponse(rubrics=shown, next_page_token=token)

    async def CreateRubric(
        self, request: pb.CreateRubricRequest, context: Context
    ) -> pb.CreateRubricResponse:
        """Store a new rubric."""
        rubric = request.rubric
        check_owner(RUBRIC, rubric.owner)
        content = read(rubric.content_json)
        check(content)

        def columns(identifier: str, now: int) -> Columns:
            return _columns(content, identifier, now, now) | {"is_public": rubric.public}

        row = await self._rubrics.make(caller().identity, rubric.owner, columns)
        return pb.CreateRubricResponse(rubric=_message(row), etag=row.etag)

    async def UpdateRubric(
        self, request: pb.UpdateRubricRequest, context: Context
    ) -> pb.UpdateRubricResponse:
        """Replace a rubric."""
        rubric = request.rubric
        require(bool(rubric.id), "rubric.id", "is required")
        check_owner(RUBRIC, rubric.owner)
        content = read(rubric.content_json)

        def change(row: Row, now: int) -> Columns:
            public = {} if row.published == rubric.public else {"is_public": rubric.public}
            if is_unchanged(content, row.contents[0]):
                return public
            check(content)
            return _columns(content, row.id, row.created_at, now) | public

        row = await self._rubrics.change(rubric.id, caller().identity, request.etag, change)
        return pb.UpdateRubricResponse(rubric=_message(row), etag=row.etag)

    async def DeleteRubric(
        self, request: pb.DeleteRubricRequest, context: Context
    ) -> pb.DeleteRubricResponse:
        """Delete a rubric for good."""
        await self._rubrics.delete(request.id, caller().identity, request.etag)
        return pb.DeleteRubricResponse()

    async def _rule(self, request: pb.GetRubricRequest) -> Allowed:
        identity = caller().identity
        if not request.HasField("on_behalf_of"):
            return partial(may_read, identity)
        require_service(identity)
        whose = request.on_behalf_of
        organization = whose.organization or await self._rubrics.home(whose.owner)
        # Without the scopes of the caller: an assistant has no more rights than its owner.
        return partial(may_read, Identity(canonical_email(whose.owner), organization))


def _columns(
    content: dict[str, Any], identifier: str, created_at: int, now: int
) -> dict[str, object]:
    return {
        "title": content["title"],
        "description": content["description"],
        "rubric_data": completed(content, identifier, created_at, now),
    }


def _message(row: Row) -> pb.Rubric:
    message = _summary(row)
    (message.content_json,) = row.contents
    return message


def _summary(row: Row) -> pb.Rubric:
    return pb.Rubric(
        id=row.id,
        owner=row.owner,
        organization=row.organization,
        public=row.published,
        title=row.title,
        description=row.description or "",
        create_time=timestamp(row.created_at),
        update_time=timestamp(row.updated_at),
    )
