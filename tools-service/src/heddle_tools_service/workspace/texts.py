r"""Splits files into lines. Only `\n` and `\r\n` end a line; every byte is preserved."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from heddle_tools_service.workspace.errors import WorkspaceError

_MARK = "\ufeff"
_UNREADABLE = dict.fromkeys(range(0xDC80, 0xDD00), "\ufffd")


@dataclass(frozen=True, slots=True)
class Text:
    """The content of a text file."""

    lines: list[str]
    """Without their ends. A byte that is not UTF-8 is a lone surrogate."""
    ends: list[str]
    """The end of each line. Empty only for a last line that has none."""
    mark: str = ""
    """The byte order mark, if there is one."""

    @property
    def final_newline(self) -> bool:
        """Whether the last line has a line end. True without lines."""
        return not self.ends or bool(self.ends[-1])

    @property
    def line_end(self) -> Literal["LF", "CRLF", "mixed", "none"]:
        """The kind of line ends."""
        kinds = {end for end in self.ends if end}
        if len(kinds) > 1:
            return "mixed"
        return {"\n": "LF", "\r\n": "CRLF"}[kinds.pop()] if kinds else "none"  # type: ignore[return-value] # the values are those two

    def full(self) -> list[str]:
        """Return the lines with their ends, the first one with the mark."""
        lines = [line + end for line, end in zip(self.lines, self.ends, strict=True)]
        if self.mark:
            lines[:1] = [self.mark + "".join(lines[:1])]
        return lines


def decode(data: bytes, path: str) -> Text:
    """Return the lines of a file.

    Raises:
        WorkspaceError: It is not text.
    """
    if b"\0" in data:
        raise WorkspaceError("not_text", f"{path!r} is not a text file: it holds NUL bytes.")
    text = data.decode("utf-8", "surrogateescape")
    mark = _MARK if text.startswith(_MARK) else ""
    lines = text[len(mark) :].split("\n")
    ends = ["\n"] * len(lines)
    for index, line in enumerate(lines[:-1]):
        if line.endswith("\r"):
            lines[index], ends[index] = line[:-1], "\r\n"
    ends[-1] = ""
    if not lines[-1]:
        del lines[-1], ends[-1]
    return Text(lines, ends, mark)


def encode(lines: Sequence[str]) -> bytes:
    """Return the bytes of full lines."""
    return "".join(lines).encode("utf-8", "surrogateescape")


def full_lines(text: str) -> list[str]:
    """Return the lines of `text` with their ends, without a byte order mark."""
    *lines, last = text.removeprefix(_MARK).split("\n")
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def shown(text: str) -> str:
    """Return text for display: U+FFFD for each byte that is not UTF-8."""
    return text if text.isascii() else text.translate(_UNREADABLE)


def lines_in(text: str) -> list[str]:
    """Return the lines of an edit; a line end after the last one is ignored."""
    lines = text.removeprefix(_MARK).replace("\r\n", "\n").split("\n")
    if not lines[-1]:
        del lines[-1]
    return lines
