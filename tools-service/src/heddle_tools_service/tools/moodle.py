"""Tells models which courses the person who asks is enrolled in."""

from dataclasses import asdict

from pydantic import Field

from heddle_tools_service.capabilities.moodle import Moodle
from heddle_tools_service.sdk import NoOptions, ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.marking import marked


class MoodleArguments(ToolArguments):
    """Nothing that counts."""

    user_id: str = Field(
        default="",
        max_length=200,
        description="Leave it out: it is always the person who asks, whatever is given here",
    )


@tool(
    "moodle",
    title="Moodle courses",
    arguments=MoodleArguments,
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
