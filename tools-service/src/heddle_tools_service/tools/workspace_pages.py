"""Formats lines of a file for a model: with line numbers, up to a limit of characters."""

from dataclasses import dataclass
from typing import Any

from heddle_tools_service.capabilities.workspace import Page
from heddle_tools_service.sdk import Source, ToolResult

_MAX_CHARS = 50_000
_MAX_LINE_CHARS = 2_000
_ENDS = {"CRLF": ", lines end with CRLF", "mixed": ", line ends are mixed"}


@dataclass(frozen=True, slots=True)
class Shown:
    """Numbered lines of a page, for a model."""

    text: str
    last: int
    """The number of the last line that is shown."""
    cut: bool
    """Whether the page has more lines."""


def shown(page: Page) -> Shown:
    """Return numbered lines, as many as a model should read at once, but at least one."""
    lines = _numbered(page)
    last = page.first + len(lines) - 1
    head = (
        f"{page.path}, lines {page.first}-{last} of {page.total}, sha256 {page.sha256}"
        f"{_peculiarities(page)}\n"
    )
    return Shown(head + "\n".join(lines), last, len(lines) < len(page.lines))


def page_result(page: Page, seen: Shown, text: str) -> ToolResult:
    """Return the result of a tool that shows a page as `text`."""
    facts: dict[str, Any] = {"path": page.path, "sha256": page.sha256, "first": page.first}
    facts |= {"last": seen.last, "total": page.total, "truncated": seen.cut}
    return ToolResult(text, [Source(page.path, kind="file", attributes={"path": page.path})], facts)


def _numbered(page: Page) -> list[str]:
    lines: list[str] = []
    left = _MAX_CHARS
    for number, line in enumerate(page.lines, page.first):
        cut = line if len(line) <= _MAX_LINE_CHARS else f"{line[:_MAX_LINE_CHARS]}… (line cut)"
        left -= len(cut) + 8
        if left < 0 and lines:
            break
        lines.append(f"{number:>5}| {cut}")
    return lines


def _peculiarities(page: Page) -> str:
    line_ends = _ENDS.get(page.line_end, "")
    return line_ends if page.final_newline else f"{line_ends}, no line end after the last line"
