"""`/assistants/{id}/versions`: what an assistant was after each save."""

import json
from typing import Annotated, Any, Literal

from heddle.assistant.v1 import versions_pb2 as pb
from heddle_conversion.assistant_json import (
    MALFORMED_MEMBER,
    PUBLISHED_MEMBER,
    write_assistant,
)
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import NotFoundError
from pydantic import Field

from heddle_gateway.admin.assistant_schema import AssistantBody
from heddle_gateway.admin.assistants import StoredJson, stored
from heddle_gateway.http.models import (
    AssistantId,
    DocumentedAs,
    ListQuery,
    Model,
    Timestamp,
)
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

_KINDS = enum_names(pb.TextPiece.Kind.DESCRIPTOR)
_MAX_NUMBER = 2**31 - 1
VersionNumber = Annotated[
    str,
    Field(
        description="The number of a version: the end of the ETag that the assistant had then.",
        examples=[1],
        json_schema_extra={"type": "integer", "minimum": 1},
    ),
]
routes = Routes("assistants")


class Version(Model):
    """One save of an assistant."""

    number: int = Field(
        description="Ascending, perhaps with gaps. The ETag that the assistant had then ends with "
        "it: `7-3` is version 3 of the assistant 7."
    )
    save_time: Timestamp
    author: str | None = Field(description="Who saved it; null if that is unknown.")
    action: str = Field(
        description="`create`, `update`, `publish`, `unpublish`, `share`, `hand_over`, `delete`, "
        "`undelete`, `restore`, `import`, `follow`, `migrate` or `rollback`; `initial` for the "
        "state before the first save that was stored."
    )
    changed_fields: list[str] = Field(
        description="The fields that differ from the version before, such as `model.model`."
    )
    restored_number: int | None = Field(description="The version that this one restored.")
    note: str = Field(
        description="What the author should look at, else empty: the fields that changed here and "
        "in the followed installation."
    )


class VersionPage(Model):
    """A page of versions, the newest first."""

    versions: list[Version]
    next_page_token: str = Field(description="Empty on the last page.")


class WholeVersion(Version):
    """A version with the assistant as it was."""

    assistant: Annotated[dict[str, Any], DocumentedAs(AssistantBody)]


class TextPiece(Model):
    """A piece of a text that was compared."""

    kind: Literal["equal", "removed", "added"]
    text: str


class Difference(Model):
    """A field that differs. A version that lacks the field has no `before` or `after`."""

    field: str = Field(
        description="The path of the field, such as `tools[1].config.top_k`. Tools are matched by "
        "their ids. `tools` alone means their order."
    )
    kind: Literal["changed", "added", "removed"]
    before: Any = Field(description="The value before; null if the field is added.")
    after: Any = Field(description="The value after; null if the field is removed.")
    pieces: list[TextPiece] = Field(
        description="If both values are texts, pieces in the order in which they are read. Equal "
        "and removed pieces together are the text before, equal and added ones the text after."
    )


class VersionComparison(Model):
    """What differs between two versions."""

    before: Version
    after: Version
    differences: list[Difference]


class ComparisonQuery(Model):
    """The query of a comparison."""

    to: int = Field(
        default=0,
        ge=0,
        le=_MAX_NUMBER,
        description="The number of the version after; by default the newest.",
    )


@routes.get("/assistants/{id}/versions", errors=(400, 404))
async def list_versions(api: Call, id_: AssistantId, query: ListQuery) -> VersionPage:
    """List the versions of an assistant, the newest first.

    Only those who may change the assistant may read them.
    """
    request = pb.ListVersionsRequest(id=id_, **query.model_dump())
    page = await call(api.services.versions.ListVersions, request)
    versions = [_version(each) for each in page.versions]
    return VersionPage(versions=versions, next_page_token=page.next_page_token)


@routes.get("/assistants/{id}/versions/{number}", errors=(400, 404, 422))
async def get(api: Call, id_: AssistantId, number: VersionNumber) -> WholeVersion:
    """Get a version with the assistant as it was."""
    request = pb.GetVersionRequest(id=id_, number=_number(number))
    response = await call(api.services.versions.GetVersion, request)
    members = write_assistant(response.assistant)
    members[PUBLISHED_MEMBER] = response.published
    if response.HasField("malformed_metadata"):
        members[MALFORMED_MEMBER] = response.malformed_metadata
    return WholeVersion(**_version(response.version).model_dump(), assistant=members)


@routes.get("/assistants/{id}/versions/{number}/diff", errors=(400, 404, 422))
async def compare(
    api: Call, id_: AssistantId, number: VersionNumber, query: ComparisonQuery
) -> VersionComparison:
    """Compare a version with another one, field by field."""
    request = pb.CompareVersionsRequest(id=id_, from_number=_number(number), to_number=query.to)
    response = await call(api.services.versions.CompareVersions, request)
    return VersionComparison(
        before=_version(response.from_version),
        after=_version(response.to_version),
        differences=[_difference(each) for each in response.differences],
    )


@routes.post(
    "/assistants/{id}/versions/{number}/restore",
    errors=(400, 404, 409, 422),
    headers=ETAG,
    if_match=True,
)
async def restore(api: Call, id_: AssistantId, number: VersionNumber) -> StoredJson:
    """Make an assistant what it was in a version, as a new version.

    Its owner, its quota, who may use it and whether it is published do not change. Faults are
    warnings.
    """
    request = pb.RestoreVersionRequest(id=id_, number=_number(number), etag=api.expected_etag())
    response = await call(api.services.versions.RestoreVersion, request)
    return stored(api, response, published=response.published)


def _number(text: str) -> int:
    """Return the number of a version; any other text is a version that does not exist."""
    if text.isascii() and text.isdecimal() and 1 <= (number := int(text[:12])) <= _MAX_NUMBER:
        return number
    raise NotFoundError(f"There is no version {text[:20]!r}. Versions are counted from 1.")


def _version(version: pb.AssistantVersion) -> Version:
    return Version.of(
        version,
        save_time=version.save_time.seconds,
        author=version.author or None,
        changed_fields=list(version.changed_fields),
        restored_number=version.restored_number or None,
    )


def _difference(difference: pb.FieldDifference) -> Difference:
    before = json.loads(difference.before_json) if difference.HasField("before_json") else None
    after = json.loads(difference.after_json) if difference.HasField("after_json") else None
    pieces = [TextPiece(kind=_KINDS[each.kind], text=each.text) for each in difference.pieces]
    return Difference(
        field=difference.field, kind=_kind(difference), before=before, after=after, pieces=pieces
    )


def _kind(difference: pb.FieldDifference) -> Literal["changed", "added", "removed"]:
    if not difference.HasField("before_json"):
        return "added"
    return "changed" if difference.HasField("after_json") else "removed"
