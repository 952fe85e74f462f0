"""Changes text files of the workspace."""

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Edit, FileEdits, Workspace
from heddle_tools_service.sdk import ToolArguments, ToolCall, ToolResult, tool
from heddle_tools_service.tools.workspace_options import (
    PATH,
    WorkspaceConfig,
    facts,
    report_changes,
    summary,
)


class Change(ToolArguments):
    """One change of a file."""

    line_start: int | None = Field(
        default=None,
        description="First line to replace, counted from 1 in the file as it is before any change "
        "of this call. Leave line_start and line_end out to search for old_content instead, which "
        "must then occur exactly once and may be part of a line",
    )
    line_end: int | None = Field(
        default=None,
        description="Last line to replace. line_start - 1 inserts before line_start",
    )
    old_content: str = Field(
        description="The text of these lines as it is now, without line numbers; empty to insert"
    )
    new_content: str = Field(
        description="The text to put there; empty to delete the lines. A line end after the last "
        "line may be left out"
    )
    reason: str = Field(
        max_length=1_000, description="Why, in a few words, for the person who asks"
    )


class File(ToolArguments):
    """A file and its changes."""

    file_path: str = Field(
        min_length=1, max_length=4_096, description=PATH, examples=["src/main.py"]
    )
    changes: tuple[Change, ...] = Field(
        min_length=1,
        max_length=200,
        description="The changes, in any order. All line numbers are those of the file before any "
        "of them, however many lines the others add or remove",
        examples=[
            [
                {
                    "line_start": 2,
                    "line_end": 2,
                    "old_content": "    pass",
                    "new_content": "    return 1",
                    "reason": "Return a value",
                }
            ]
        ],
    )
    expected_sha256: str = Field(
        default="",
        pattern="^([0-9a-fA-F]{12,64})?$",
        description="The sha256 that read_file told, or at least its first 12 digits: nothing is "
        "changed if the file is another one by now",
    )
    create: bool = Field(
        default=False,
        description="Make a new file: one change, with empty old_content and the whole file as "
        "new_content",
    )


class PatchFile(File):
    """The changes to make."""

    other_files: tuple[File, ...] = Field(
        default=(),
        max_length=19,
        description="More files to change in the same step: either all files are changed or none",
    )
    relocate: bool = Field(
        default=False,
        description="If old_content is not at the given lines but at exactly one other place, "
        "change it there",
    )
    dry_run: bool = Field(default=False, description="Show the diff and change nothing")


@tool(
    "patch_file",
    title="Patch file",
    slot="patch",
    category="file",
    modes=("function",),
    effect="non_destructive",
)
async def patch_file(
    call: ToolCall[WorkspaceConfig, PatchFile], workspace: Workspace
) -> ToolResult:
    """Changes lines of text files in the workspace, all of them or none."""
    arguments = call.arguments
    files = [_edits(file) for file in (arguments, *arguments.other_files)]
    paths = ", ".join(file.path for file in files)
    call.status(f"checking changes of {paths}" if arguments.dry_run else f"changing {paths}")
    patched = await workspace.patch(
        call.config.area, files, dry_run=arguments.dry_run, relocate=arguments.relocate
    )
    if arguments.dry_run:
        return ToolResult.json({"dry_run": True, **summary(patched)}, metadata=facts(patched))
    report_changes(call, patched)
    return ToolResult.json(summary(patched), metadata=facts(patched))


def _edits(file: File) -> FileEdits:
    edits = tuple(
        Edit(
            change.new_content,
            change.old_content,
            change.line_start,
            change.line_end,
            change.reason,
        )
        for change in file.changes
    )
    return FileEdits(file.file_path, edits, file.expected_sha256, file.create)
