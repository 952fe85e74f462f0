"""Tells today's date and the week of the term, which models cannot know."""

from datetime import UTC, date, datetime

from heddle_tools_service.sdk import ToolCall, ToolConfig, ToolError, ToolResult, tool
from pydantic import Field


class TermsConfig(ToolConfig):
    """The terms of a school or university."""

    terms: dict[str, str] = Field(
        default={
            "autumn term": "2026-09-14/2027-01-29",
            "spring term": "2027-02-08/2027-06-11",
        },
        description="By the name of a term, its first and last day.",
    )


@tool("term_week", title="Week of the term", category="lms", slot="term_week")
async def term_week(call: ToolCall[TermsConfig]) -> ToolResult:
    """Tells today's date, the week of the current term, and when the term ends."""
    today = datetime.now(UTC).date()
    text = f"Today is {today:%A %Y-%m-%d}"
    for name, days in call.config.terms.items():
        try:
            first, last = map(date.fromisoformat, days.split("/"))
        except ValueError:
            raise ToolError(f"The days of the {name} are not like 2026-09-14/2027-01-29.") from None
        if first <= today <= last:
            week = (today - first).days // 7 + 1
            return ToolResult(f"{text}, week {week} of the {name}, which ends on {last}.")
    return ToolResult(f"{text}, outside of the terms.")
