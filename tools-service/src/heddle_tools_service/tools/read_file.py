"""Shows lines of a text file of the workspace with their numbers."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolError, ToolResult, tool
from heddle_tools_service.tools.workspace_options import PATH, WorkspaceConfig
from heddle_tools_service.tools.workspace_pages import page_result, shown


class ReadFileConfig(WorkspaceConfig):
    """The workspace, and the file that is read in the mode augment."""

    file_path: str = Field(
        title="File",
        default="",
        max_length=4_096,
        description="The file to read into the prompt. Only for the mode augment; in the mode "
        "function the model says which",
        examples=["notes.md"],
    )


class ReadFile(ToolArguments):
    """The file and the lines to read."""

    file_path: str = Field(
        min_length=1, max_length=4_096, description=PATH, examples=["src/main.py"]
    )
    line_start: int = Field(default=1, ge=1, description="First line to show, from 1")
    line_end: int | None = Field(
        default=None, ge=1, description="Last line to show; without it, to the end"
    )


@tool(
    "read_file",
    title="Read file",
    slot="file",
    category="file",
    modes=("augment", "function"),
)
async def read_file(
    call: ToolCall[ReadFileConfig, ReadFile | None], workspace: Workspace
) -> ToolResult:
    """Shows a text file of the workspace with line numbers and its sha256."""
    arguments = call.arguments or _configured(call.config)
    call.status(f"reading {arguments.file_path}")
    page = await workspace.page(
        call.config.area, arguments.file_path, arguments.line_start, arguments.line_end
    )
    seen = shown(page)
    tail = f"\n(cut here; read on with line_start {seen.last + 1})" if seen.cut else ""
    return page_result(page, seen, seen.text + tail)


def _configured(config: ReadFileConfig) -> ReadFile:
    if not config.file_path:
        raise ToolError("No file_path configured")
    return ReadFile(file_path=config.file_path)
