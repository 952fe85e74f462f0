"""`/migration/following`: whether Heddle follows the database of a LAMB."""

from heddle.assistant.v1 import following_pb2 as pb
from heddle_runtime.enums import enum_names
from pydantic import Field

from heddle_gateway.http.models import Model, Seconds
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

_TABLES = enum_names(pb.FollowedTable.DESCRIPTOR)
routes = Routes("migration")


class FollowedTable(Model):
    """A table that is followed."""

    name: str
    rows: int = Field(description="Rows that are followed.")
    gone: int = Field(description="Rows that are gone in LAMB.")
    refused: int = Field(description="Rows that could not be applied.")


class FollowedNote(Model):
    """A row that an operator should look at."""

    table: str
    row_id: int = Field(description="Its id in LAMB.")
    noted: Seconds
    note: str = Field(
        description="The fields that changed in LAMB and in Heddle. A line for each time, the "
        "newest first."
    )
    refusal: str = Field(description="Why it could not be applied; empty if it was.")


class Following(Model):
    """The state of the following of a LAMB database."""

    following: bool = Field(description="Whether a service follows at the moment.")
    compared: Seconds | None = Field(description="When all rows were compared last.")
    changed: Seconds | None = Field(description="When a change of LAMB was applied last.")
    problem: str = Field(description="Why it cannot follow, with the remedy, else empty.")
    tables: list[FollowedTable]
    notes: list[FollowedNote] = Field(description="The newest 100.")


@routes.get("/migration/following", errors=(403,))
async def get(api: Call) -> Following:
    """Get whether Heddle follows a LAMB database, and what needs attention. Only for operators."""
    response = await call(api.services.following.GetFollowing, pb.GetFollowingRequest())
    report = response.report
    return Following(
        following=response.following,
        compared=report.compare_time.seconds or None,
        changed=report.change_time.seconds or None,
        problem=report.problem,
        tables=[FollowedTable.of(each, name=_TABLES[each.table]) for each in response.tables],
        notes=[
            FollowedNote.of(each, table=_TABLES[each.table], noted=each.note_time.seconds)
            for each in response.notes
        ],
    )
