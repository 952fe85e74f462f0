"""Tells models what the person who asks has handed in, has to, or has missed."""

from datetime import datetime
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.moodle import Assignment, Moodle
from heddle_tools_service.sdk import NoOptions, ToolCall, ToolResult, tool
from heddle_tools_service.tools.marking import marked
from heddle_tools_service.tools.moodle import MoodleArguments

_MAX_ASSIGNMENTS = 40


class MoodleAssignmentsArguments(MoodleArguments):
    """Which span of time."""

    days_past: int = Field(
        default=30, ge=0, le=366, description="How many days back to look for due assignments"
    )
    days_future: int = Field(
        default=30, ge=0, le=366, description="How many days ahead to look for due assignments"
    )
    limit: int = Field(
        default=_MAX_ASSIGNMENTS,
        ge=1,
        le=_MAX_ASSIGNMENTS,
        description="Maximum number of assignments to look at",
    )


@tool(
    "moodle_assignments",
    title="Moodle assignments",
    arguments=MoodleAssignmentsArguments,
    function="get_moodle_assignments_status",
    slot="moodle_assignments",
    category="lms",
    modes=("augment", "function"),
)
async def moodle_assignments(
    call: ToolCall[NoOptions, MoodleAssignmentsArguments], moodle: Moodle
) -> ToolResult:
    """Get user's completed, due and missed assignments from Moodle LMS."""
    call.status("asking Moodle for your assignments")
    span = call.arguments
    with marked():
        assignments = await moodle.assignments(
            days_past=span.days_past, days_future=span.days_future, limit=span.limit
        )
    answer: dict[str, Any] = {"completed": [], "due": [], "missed": []}
    for assignment in assignments.items:
        answer[assignment.status].append(_shown(assignment))
    answer["counts"] = {status: len(listed) for status, listed in answer.items()}
    if assignments.not_examined:
        answer["not_looked_at"] = assignments.not_examined
    return ToolResult.json({**answer, "success": True}, warnings=assignments.warnings)


def _shown(assignment: Assignment) -> dict[str, Any]:
    return {
        "id": assignment.id,
        "name": assignment.name,
        "course": assignment.course.name,
        "due": _iso(assignment.due),
        "cutoff": _iso(assignment.cutoff),
    }


def _iso(time: datetime | None) -> str | None:
    return time.isoformat() if time else None
