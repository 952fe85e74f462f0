"""Puts the beginning of one file into the prompt."""

from typing import Annotated

from pydantic import Field

from heddle_tools_service.capabilities.files import Files, is_uploaded
from heddle_tools_service.sdk import (
    Input,
    NoArguments,
    Source,
    ToolCall,
    ToolConfig,
    ToolError,
    ToolResult,
    tool,
)


class SingleFileConfig(ToolConfig):
    """The file to read, and how much of it."""

    file_path: Annotated[str, Input("file")] = Field(
        title="File",
        max_length=4_096,
        description="An uploaded file of the assistant's owner, or a path below the files' folder "
        "of the server, its owner's folder first",
        examples=["1/notes.md"],
    )
    max_chars: int = Field(
        title="Characters",
        default=50_000,
        ge=1,
        le=400_000,
        description="Maximum characters to read",
    )


@tool(
    "single_file",
    title="One file",
    label="File",
    slot="file",
    category="file",
    modes=("augment", "function"),
)
async def single_file(call: ToolCall[SingleFileConfig, NoArguments], files: Files) -> ToolResult:
    """Injects the contents of a file as context."""
    path = call.config.file_path
    if not path.strip():
        raise ToolError("No file_path configured")
    call.status("reading an uploaded file" if is_uploaded(path) else f"reading file {path}")
    content = await files.read(path, call.config.max_chars)
    chars = len(content.text)
    source = Source(content.name, kind="file", attributes={"path": path, "chars": str(chars)})
    return ToolResult(content.text, [source], {"truncated": content.truncated, "chars": chars})
