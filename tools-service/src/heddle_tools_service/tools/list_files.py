"""Lists files and folders of the workspace."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Entry, Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.workspace_options import PathPattern, WorkspaceConfig


class ListFiles(ToolArguments):
    """The files to list."""

    folder: str = Field(
        default="", max_length=4_096, description="Folder to list; empty: the whole workspace"
    )
    pattern: PathPattern = ""
    depth: int = Field(
        default=8, ge=1, le=32, description="How many folders deep; 1 is the folder alone"
    )
    max_results: int = Field(default=200, ge=1, le=2_000, description="The most entries to show")


@tool(
    "list_files",
    title="List files",
    slot="files",
    category="file",
    modes=("augment", "function"),
)
async def list_files(
    call: ToolCall[WorkspaceConfig, ListFiles], workspace: Workspace
) -> ToolResult:
    """Lists the files and folders of the workspace with their sizes."""
    arguments = call.arguments
    call.status(f"listing {arguments.folder or 'files'}")
    listing = await workspace.entries(
        call.config.area,
        arguments.folder,
        arguments.pattern,
        depth=arguments.depth,
        most=arguments.max_results,
    )
    lines = [_line(entry) for entry in listing.entries] or ["(no files)"]
    if listing.cut:
        lines.append(f"(there may be more: {listing.cut})")
    return ToolResult(
        "\n".join(lines),
        metadata={"entries": len(listing.entries), "truncated": bool(listing.cut)},
    )


def _line(entry: Entry) -> str:
    return f"{entry.path}/" if entry.folder else f"{entry.path}  {entry.size:,} bytes"
