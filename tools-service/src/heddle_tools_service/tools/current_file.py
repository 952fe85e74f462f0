"""Shows the file that the user has open, which an editor names in the request's metadata."""

import re
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.sdk import ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.workspace_options import WorkspaceConfig
from heddle_tools_service.tools.workspace_pages import page_result, shown

_FILE, _LINES = "current_file", "current_lines"
_RANGE = re.compile(r"([1-9][0-9]{0,8})(?:-([1-9][0-9]{0,8}))?", re.ASCII)
_LEAD = 0.25
"""The share of shown lines that precede those that the user sees."""


class CurrentFileConfig(WorkspaceConfig):
    """The workspace, and how many lines of the open file the prompt shows."""

    lines: int = Field(
        title="Lines",
        default=400,
        ge=0,
        le=2_000,
        description="The most lines to show; with 0 the file is only named",
    )


@dataclass(frozen=True, slots=True)
class _Open:
    path: str
    first: int = 1
    """The first line that the user sees."""
    last: int = 0
    """The last one; 0 if the request names none."""


@tool(
    "current_file",
    title="Current file",
    label="Open file",
    slot="current_file",
    category="file",
)
async def current_file(call: ToolCall[CurrentFileConfig], workspace: Workspace) -> ToolResult:
    """Puts the file of the workspace that the person has open into the prompt."""
    opened = _opened(call.request.get("metadata"))
    if opened is None:
        return ToolResult("")
    most = call.config.lines
    first = max(1, opened.first - int(most * _LEAD))
    call.status(f"reading {opened.path}")
    page = await workspace.page(call.config.area, opened.path, first, first + max(most, 1) - 1)
    looks = f"\nThe person looks at {_spoken(opened)}." if opened.last else ""
    if not most:
        return ToolResult(f"{page.path}, {page.total} lines{looks}")
    seen = shown(page)
    rest = (
        "" if seen.last >= page.total else f"\n(the file has {page.total - seen.last} lines more)"
    )
    return page_result(page, seen, seen.text + rest + looks)


def _opened(metadata: object) -> _Open | None:
    members: dict[Any, Any] = metadata if isinstance(metadata, dict) else {}
    path, lines = members.get(_FILE), members.get(_LINES)
    if path is None or path == "":
        return None
    if not isinstance(path, str):
        raise _wrong(_FILE, "the path of a file of the workspace, such as src/main.py")
    if lines is None or lines == "":
        return _Open(path)
    match = _RANGE.fullmatch(lines) if isinstance(lines, str) else None
    first = int(match[1]) if match else 0
    last = int(match[2] or first) if match else 0
    if not first or last < first:
        raise _wrong(_LINES, "a line's number, or the first and the last one, such as 10-12")
    return _Open(path, first, last)


def _wrong(member: str, what: str) -> ToolError:
    message = f"The request's metadata.{member} must be text: {what}."
    return ToolError(message, kind="invalid_arguments")


def _spoken(opened: _Open) -> str:
    if opened.first == opened.last:
        return f"line {opened.first}"
    return f"lines {opened.first}-{opened.last}"
