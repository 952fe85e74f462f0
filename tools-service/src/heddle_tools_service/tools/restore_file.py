"""Undoes a change of the workspace."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.workspace_options import (
    WorkspaceConfig,
    facts,
    open_workspace,
    summary,
    tell_changes,
)


class RestoreFile(ToolArguments):
    """What to undo."""

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
    config=WorkspaceConfig,
    arguments=RestoreFile,
    slot="patch",
    category="file",
    modes=("function",),
)
async def restore_file(
    call: ToolCall[WorkspaceConfig, RestoreFile], workspace: Workspace
) -> ToolResult:
    """Puts files of the workspace back to what they were before a call of patch_file."""
    wanted = call.arguments
    call.status(f"restoring {wanted.file_path or 'files'}")
    found = await open_workspace(workspace, call.config).restore(
        wanted.restore_id, path=wanted.file_path, force=wanted.force
    )
    tell_changes(call, found)
    return ToolResult.json(summary(found), metadata=facts(found))
