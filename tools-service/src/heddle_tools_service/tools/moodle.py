"""Tools for Moodle: the caller's courses and assignments, and the caller's name for prompts."""

import asyncio
from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.moodle import Assignment, Moodle
from heddle_tools_service.sdk import (
    NoOptions,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.marking import marked

_MAX_ASSIGNMENTS = 40
_NO_USER = "default"
_METADATA = ("user_id", "lti_user_id", "lis_person_sourcedid", "email")
_MAX_NAME_CHARS = 200
_MAX_LOOKUP_SECONDS = 5.0


class MoodleArguments(ToolArguments):
    """An argument that models may send, without effect."""

    user_id: str = Field(
        default="",
        max_length=200,
        description="Leave it out: it is always the person who asks, whatever is given here",
    )


@tool(
    "moodle",
    title="Moodle courses",
    label="Courses",
    function="get_moodle_courses",
    slot="moodle",
    category="lms",
    modes=("augment", "function"),
)
async def moodle(call: ToolCall[NoOptions, MoodleArguments], site: Moodle) -> ToolResult:
    """Get user's enrolled courses from Moodle LMS."""
    call.status("asking Moodle for your courses")
    with marked():
        courses = await site.courses()
    listed = [asdict(course) for course in courses]
    return ToolResult.json({"courses": listed, "course_count": len(listed), "success": True})


class MoodleAssignmentsArguments(MoodleArguments):
    """The span of time and the number of assignments."""

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
    label="Assignments",
    function="get_moodle_assignments_status",
    slot="moodle_assignments",
    category="lms",
    modes=("augment", "function"),
)
async def moodle_assignments(
    call: ToolCall[NoOptions, MoodleAssignmentsArguments], site: Moodle
) -> ToolResult:
    """Get user's completed, due and missed assignments from Moodle LMS."""
    call.status("asking Moodle for your assignments")
    span = call.arguments
    with marked():
        assignments = await site.assignments(
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


@tool(
    "moodle_user",
    title="Moodle user",
    slot="moodle_user",
    category="lms",
)
async def moodle_user(call: ToolCall[NoOptions], site: Moodle) -> ToolResult:
    """Puts the Moodle identifier of the person who asks into the prompt."""
    email = call.caller.subject
    if "@" in email and not call.caller.client_user:
        return ToolResult(await _number(call, site) or email)
    return ToolResult(next(_claims(call), _NO_USER))


async def _number(call: ToolCall[NoOptions], site: Moodle) -> str:
    """Return Moodle's number of the caller; empty if Moodle fails or takes too long."""
    call.status("looking you up in Moodle")
    try:
        async with asyncio.timeout(min(_MAX_LOOKUP_SECONDS, call.seconds / 2)):
            return str(await site.user())
    except (ToolError, TimeoutError):
        return ""


def _claims(call: ToolCall[NoOptions]) -> Iterator[str]:
    """Yield other names of the caller, the most trusted first.

    Those in the request's metadata are claims of the client. They serve as text of a prompt only:
    no tool looks up a user by them.
    """
    metadata: Any = call.request.get("metadata")
    claims = [metadata.get(name) for name in _METADATA] if isinstance(metadata, dict) else []
    yield from filter(None, map(_text, (call.caller.client_user, *claims)))


def _text(value: object) -> str:
    """Return a name as one line; empty if it is no text and no number."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    return " ".join(str(value).split())[:_MAX_NAME_CHARS]
