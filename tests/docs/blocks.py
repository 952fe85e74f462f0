"""Blocks of code in the pages: what runs, what is shown as output, and what is only checked."""

import re
from dataclasses import dataclass
from pathlib import Path

_BLOCK = re.compile(
    r"(?:^<!-- (?P<comment>[^>]*?) -->\n+)?^```(?P<language>[\w-]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_NOT_RUN = "not run: "
_SCHEMA = "schema: "


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code.

    `not_run` is the reason why it does not run; `schema` names what a JSON or YAML block is checked
    against.
    """

    page: Path
    line: int
    language: str
    text: str
    not_run: str = ""
    schema: str = ""

    @property
    def place(self) -> str:
        """Where it is, for messages."""
        return f"{self.page}:{self.line}"


def blocks(page: Path) -> list[Block]:
    """Return the blocks of `page` in their order."""
    content = page.read_text()
    listed: list[Block] = []
    for match in _BLOCK.finditer(content):
        comment = match["comment"] or ""
        line = content.count("\n", 0, match.start("text"))
        listed.append(
            Block(
                page,
                line,
                match["language"],
                match["text"],
                comment.removeprefix(_NOT_RUN) if comment.startswith(_NOT_RUN) else "",
                comment.removeprefix(_SCHEMA) if comment.startswith(_SCHEMA) else "",
            )
        )
    return listed
