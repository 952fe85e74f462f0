"""What a tutorial tells its reader to do, in its order.

A reader runs the blocks of a shell, saves files, does numbered steps in a browser, and presses
Ctrl+C. Anything else that looks like an action is an error, so that a page has no step that its
test leaves out.
"""

import re
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from docs.blocks import Block, blocks

_SAVE = re.compile(r"\bSave this as `(?P<path>[^`]+)`:$")
_STEP = re.compile(r"^(?P<number>\d+)\. (?P<text>.+(?:\n   .+)*)", re.MULTILINE)
_STOP = re.compile(r"^Press Ctrl\+C\b", re.MULTILINE)
_HEADING = re.compile(r"^## ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Command:
    """Commands to run, and what the page shows of their output."""

    line: int
    text: str
    output: str = ""


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file to write."""

    line: int
    path: str
    text: str


@dataclass(frozen=True, slots=True)
class BrowserStep:
    """A numbered step in the browser."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Ctrl+C in the terminal of Heddle."""

    line: int


Action = Command | SavedFile | BrowserStep | Stop


def actions(page: Path) -> list[Action]:
    """Return the actions of a tutorial in their order.

    Raises:
        ValueError: A block is neither run nor saved, or the steps of a section are not numbered
            from 1.
    """
    content = page.read_text()
    listed: list[Action] = [*_of_blocks(page, content), *_steps(page, content)]
    listed += [Stop(_line(content, match.start())) for match in _STOP.finditer(content)]
    return sorted(listed, key=lambda action: action.line)


def _of_blocks(page: Path, content: str) -> list[Action]:
    lines = content.splitlines()
    listed: list[Action] = []
    all_blocks = blocks(page)
    for block, following in pairwise([*all_blocks, Block(page, 0, "", "")]):
        before = next(line for line in reversed(lines[: block.line - 1]) if line.strip())
        if saved := _SAVE.search(before):
            listed.append(SavedFile(block.line, saved["path"], block.text))
        elif block.language == "sh" and not block.not_run:
            output = following.text.strip() if following.language == "output" else ""
            listed.append(Command(block.line, block.text, output))
        elif block.language != "output":
            raise ValueError(f"{block.place} is neither run nor saved")
    return listed


def _steps(page: Path, content: str) -> list[BrowserStep]:
    listed = []
    section, expected = 0, 1
    for match in _STEP.finditer(content):
        own_section = len(_HEADING.findall(content, 0, match.start()))
        if own_section != section:
            section, expected = own_section, 1
        line = _line(content, match.start())
        if int(match["number"]) != expected:
            raise ValueError(f"{page}:{line} is step {expected} of its section")
        expected += 1
        listed.append(BrowserStep(line, " ".join(match["text"].split())))
    return listed


def _line(content: str, position: int) -> int:
    return content.count("\n", 0, position) + 1
