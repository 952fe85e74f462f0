"""The options and reports that all tools of the workspace share."""

from typing import Annotated, Any

from pydantic import Field

from heddle_tools_service.capabilities.workspace import Area, ChangedFile, Patched
from heddle_tools_service.sdk import FileChange, ToolCall, ToolConfig

PATH = "Path of the file, relative to the workspace, with / between names"
PathPattern = Annotated[
    str,
    Field(
        max_length=500,
        description="Only files whose path matches this glob, such as *.py or src/**/test_*.py",
    ),
]
_MAX_DIFF_CHARS = 50_000


class WorkspaceConfig(ToolConfig):
    """The workspace and the folder of it that the tool may use."""

    folder: str = Field(
        title="Folder",
        default="",
        max_length=4_096,
        description="The only folder of the workspace that the tool may touch; empty: all of it",
    )
    shared: bool = Field(
        title="Shared workspace",
        default=False,
        description="Use the workspace that the people of an organisation share, instead of the "
        "one of the person who asks",
    )

    @property
    def area(self) -> Area:
        """The part of the workspaces that the assistant's author opens to the tool."""
        return Area(self.folder, self.shared)


def report_changes(call: ToolCall[Any, Any], patched: Patched) -> None:
    """Report each change of a file to the waiting user."""
    for file in patched.files:
        if not file.changes and file.status != "unchanged":
            call.status(f"{file.status} {file.path}", FileChange(file.path))
        changes = [change for change in file.changes if not change.unchanged]
        for index, change in enumerate(changes):
            where = f"{file.status} {file.path}{_lines(file.status, change.first, change.last)}"
            call.status(
                f"{where}: {change.reason}" if change.reason else where,
                FileChange(
                    file.path,
                    change.reason,
                    change.first,
                    change.last,
                    "" if index else file.diff,
                ),
            )


def _lines(status: str, first: int, last: int) -> str:
    if status == "created":
        return ""
    if last < first:
        return f", before line {first}"
    return f", line {first}" if last == first else f", lines {first}-{last}"


def summary(patched: Patched) -> dict[str, Any]:
    """Return the report on a patch for a model."""
    return {
        **({"restore_id": patched.restore_id} if patched.restore_id else {}),
        "files": [_file(file, _MAX_DIFF_CHARS // len(patched.files)) for file in patched.files],
    }


def facts(patched: Patched) -> dict[str, Any]:
    """Return the metadata of a patch for traces, without contents of files."""
    files = [
        {"path": file.path, "status": file.status, "added": file.added, "removed": file.removed}
        for file in patched.files
    ]
    return {"restore_id": patched.restore_id, "files": files}


def _file(file: ChangedFile, longest_diff: int) -> dict[str, Any]:
    shown: dict[str, Any] = {"file_path": file.path, "status": file.status}
    if file.sha256:
        shown["sha256"] = file.sha256
    if file.changes:
        shown |= {"lines_added": file.added, "lines_removed": file.removed}
        shown["changes"] = [
            {
                "index": change.index,
                "status": "unchanged" if change.unchanged else "applied",
                "line_start": change.first,
                "line_end": change.last,
                "new_line_start": change.new_first,
                "new_line_end": change.new_last,
                "reason": change.reason,
            }
            for change in file.changes
        ]
    if len(file.diff) > longest_diff:
        shown["diff_cut"] = True
    if file.diff:
        shown["diff"] = file.diff[: file.diff.rfind("\n", 0, longest_diff) + 1]
    return shown
