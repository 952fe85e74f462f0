"""Searches the text files of the workspace."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import FileQuery, Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.workspace_options import PathPattern, WorkspaceConfig


class SearchFiles(ToolArguments):
    """The text to search for, and the files to search."""

    query: str = Field(
        min_length=1,
        max_length=1_000,
        description="Text to search for, within one line",
        examples=["def main"],
    )
    regex: bool = Field(
        default=False,
        description="Take the query as a regular expression of RE2, which has no backreferences "
        "and no look-around",
    )
    case_sensitive: bool = Field(
        default=True, description="Whether capitals and small letters differ"
    )
    folder: str = Field(
        default="", max_length=4_096, description="Folder to search in; empty: everywhere"
    )
    pattern: PathPattern = ""
    max_results: int = Field(default=100, ge=1, le=500, description="The most lines to show")


@tool(
    "search_files",
    title="Search files",
    slot="files",
    category="file",
    modes=("function",),
)
async def search_files(
    call: ToolCall[WorkspaceConfig, SearchFiles], workspace: Workspace
) -> ToolResult:
    """Finds the lines of the workspace's text files that contain a text or match a pattern."""
    arguments = call.arguments
    call.status("searching files")
    results = await workspace.find(
        call.config.area,
        FileQuery(
            arguments.query,
            arguments.regex,
            arguments.case_sensitive,
            arguments.folder,
            arguments.pattern,
            arguments.max_results,
        ),
    )
    lines = [f"{match.path}:{match.line}: {match.text}" for match in results.matches]
    count = len(lines)
    end = f"({count} {'line' if count == 1 else 'lines'} in {results.files} searched files"
    if results.skipped:
        end += f"; {results.skipped} not searched: no text, too large, or not to be read"
    if results.cut:
        end += f"; there may be more: {results.cut}"
    return ToolResult(
        "\n".join([*lines, f"{end})"]),
        metadata={"matches": count, "files": results.files, "truncated": bool(results.cut)},
        count=count,
    )
