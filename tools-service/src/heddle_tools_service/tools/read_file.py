"""Shows lines of a text file of the workspace with their numbers."""

from pydantic import Field

from heddle_tools_service.sdk import (
    Page,
    Source,
    ToolArguments,
    ToolCall,
    ToolError,
    ToolResult,
    tool,
)
from heddle_tools_service.tools.workspace_options import PATH, WorkspaceConfig, workspace_of

_LONGEST = 50_000
_LONGEST_LINE = 2_000


class ReadFileConfig(WorkspaceConfig):
    """Which files, and which one is read when no model asks."""

    file_path: str = Field(
        default="",
        max_length=4_096,
        description="The file to read into the prompt. Only for the mode augment; in the mode "
        "function the model says which",
        examples=["notes.md"],
    )


class ReadFile(ToolArguments):
    """Which lines."""

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
    config=ReadFileConfig,
    arguments=ReadFile,
    slot="file",
    category="file",
    modes=("augment", "function"),
)
async def read_file(call: ToolCall[ReadFileConfig, ReadFile | None]) -> ToolResult:
    """Shows a text file of the workspace with line numbers and its sha256."""
    wanted = call.arguments or _configured(call.config)
    call.status(f"reading {wanted.file_path}")
    page = await workspace_of(call).page(wanted.file_path, wanted.line_start, wanted.line_end)
    shown = _shown(page)
    last = page.first + len(shown) - 1
    cut = len(shown) < len(page.lines)
    head = (
        f"{page.path}, lines {page.first}-{last} of {page.total}, sha256 {page.sha256}"
        f"{_peculiarities(page)}\n"
    )
    tail = f"\n(cut here; read on with line_start {last + 1})" if cut else ""
    told = {"path": page.path, "sha256": page.sha256, "first": page.first, "last": last}
    return ToolResult(
        head + "\n".join(shown) + tail,
        [Source(page.path, kind="file", attributes={"path": page.path})],
        {**told, "total": page.total, "truncated": cut},
    )


def _configured(config: ReadFileConfig) -> ReadFile:
    if not config.file_path:
        raise ToolError("No file_path configured")
    return ReadFile(file_path=config.file_path)


def _shown(page: Page) -> list[str]:
    """Return numbered lines, as many as a model should read at once, but at least one."""
    shown: list[str] = []
    left = _LONGEST
    for number, line in enumerate(page.lines, page.first):
        cut = line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… (line cut)"
        left -= len(cut) + 8
        if left < 0 and shown:
            break
        shown.append(f"{number:>5}| {cut}")
    return shown


def _peculiarities(page: Page) -> str:
    told = {"CRLF": ", lines end with CRLF", "mixed": ", line ends are mixed"}.get(
        page.line_end, ""
    )
    return told if page.final_newline else f"{told}, no line end after the last line"
