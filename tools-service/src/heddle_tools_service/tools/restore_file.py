"""Undoes a change of the workspace."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.workspace_options import (
    WorkspaceConfig,
    facts,
    report_changes,
    summary,
)


class RestoreFile(ToolArguments):
    """The patch to undo."""

    restore_id: str = Field(
        min_length=1,
        max_length=100,
        description="The restore_id that patch_file returned",
        examples=["18ea4626735e6d2cbd68524b"],
    )
    file_path: str = Field(
        default="",
        max_length=4_096,
        description="The only file to put back; empty: all files that the call changed",
    )
    force: bool = Field(
        default=False,
        description="Put the file back even if it was changed since, which loses those changes",
    )


@tool(
    "restore_file",
    title="Restore file",
    slot="patch",
    category="file",
    modes=("function",),
    effect="non_destructive",
)
async def restore_file(
    call: ToolCall[WorkspaceConfig, RestoreFile], workspace: Workspace
) -> ToolResult:
    """Puts files of the workspace back to what they were before a call of patch_file."""
    arguments = call.arguments
    call.status(f"restoring {arguments.file_path or 'files'}")
    patched = await workspace.restore(
        call.config.area, arguments.restore_id, path=arguments.file_path, force=arguments.force
    )
    report_changes(call, patched)
    return ToolResult.json(summary(patched), metadata=facts(patched))
