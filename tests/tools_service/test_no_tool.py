"""`no_tool`, for assistants that must name a tool and use none."""

from heddle_tools_service.sdk import ToolResult
from heddle_tools_service.testing import run_tool
from heddle_tools_service.tools.no_tool import no_tool


async def test_it_adds_nothing_to_the_prompt() -> None:
    outcome = await run_tool(no_tool)

    assert outcome.result == ToolResult("")
    assert not outcome.statuses
