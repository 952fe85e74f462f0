"""Extracts prose from the files of the repository: Markdown, docstrings, comments and messages."""

import ast
import re
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
_GENERATED = ("protos/gen/", "protos/third_party/")
_CODE = re.compile(r"`[^`]*`|https?://\S+|\]\([^)]*\)|<[^>]*>")
_FENCE = re.compile(r"^\s*(```|~~~)")
_MESSAGE_KEYWORDS = {"description", "help", "title", "message"}
_LOG_METHODS = {"debug", "info", "warning", "error", "exception", "critical"}
_FEWEST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of prose that begins in line `line` of `file`."""

    file: str
    line: int
    content: str


def select(paths: Sequence[str]) -> None:
    """Let `files` return files and folders of these names only; all if there are none."""
    _selected.extend(paths)


_selected: list[str] = []


@cache
def _tracked() -> list[str]:
    listed = subprocess.run(  # noqa: S603 - fixed arguments
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *_selected],  # noqa: S607
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    return sorted(listed.stdout.splitlines())


def files(*suffixes: str) -> list[str]:
    """Return the tracked files with these suffixes that people write."""
    return [
        name
        for name in _tracked()
        if name.endswith(suffixes) and not name.startswith(_GENERATED) and (ROOT / name).is_file()
    ]


def area(file: str) -> str:
    """Return the area of `file`, whose counts are added up."""
    top = file.partition("/")[0]
    if file.endswith(".md"):
        return "documents"
    if file.endswith(".proto"):
        return "contracts"
    return top if top in {"tests", "benchmarks", "examples", "docs"} else "product"


def texts() -> Iterator[Text]:
    """Return all prose."""
    for name in files(".md", ".py", ".proto"):
        content = (ROOT / name).read_text()
        match name.rpartition(".")[2]:
            case "md":
                yield from markdown(name, content)
            case "proto":
                yield from _comments(name, content, "//")
            case _:
                yield from _comments(name, content, "#")
                yield from strings(name, content)


def without_code(text: str) -> str:
    """Return `text` with code and addresses replaced, so that sentences keep their words."""
    return _CODE.sub(" X ", text)


def markdown(name: str, content: str) -> Iterator[Text]:
    """Return the paragraphs, list items, headings and table rows outside of code blocks."""
    paragraph: list[str] = []
    start, fenced = 1, False
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        stripped = line.strip()
        fence = _FENCE.match(line) is not None
        begins = (
            fence or fenced or stripped.startswith(("- ", "* ", "#", "|", "!!!")) or not stripped
        )
        if paragraph and begins:
            yield Text(name, start, " ".join(paragraph))
            paragraph = []
        fenced ^= fence
        if stripped and not fence and not fenced:
            if stripped.startswith("|"):
                yield from (
                    Text(name, number, cell) for cell in stripped.split("|") if cell.strip()
                )
                continue
            start = start if paragraph else number
            paragraph.append(stripped)


def _comments(name: str, content: str, mark: str) -> Iterator[Text]:
    block: list[str] = []
    start = 1
    for number, line in enumerate([*content.splitlines(), ""], start=1):
        stripped = line.strip()
        if stripped.startswith(mark) and not stripped.startswith("#!"):
            start = start if block else number
            block.append(stripped.removeprefix(mark).strip())
        if block and (not stripped.startswith(mark) or not block[-1]):
            yield Text(name, start, " ".join(block))
            block = []


def strings(name: str, content: str) -> Iterator[Text]:
    """Return docstrings, and the messages of exceptions, log lines and described fields."""
    for node in ast.walk(ast.parse(content)):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text)) as constant):
                for offset, paragraph in _paragraphs(text):
                    yield Text(name, constant.lineno + offset, paragraph)
            case ast.Raise(exc=ast.Call(args=arguments)):
                yield from _messages(name, arguments)
            case ast.Call(func=ast.Attribute(attr=method), args=arguments) if (
                method in _LOG_METHODS
            ):
                yield from _messages(name, arguments[:1])
        if isinstance(node, ast.Call):
            described = [word.value for word in node.keywords if word.arg in _MESSAGE_KEYWORDS]
            yield from _messages(name, described)


def _messages(name: str, arguments: list[ast.expr]) -> Iterator[Text]:
    for argument in arguments:
        pieces = argument.values if isinstance(argument, ast.JoinedStr) else [argument]
        literals = [
            piece.value if isinstance(piece, ast.Constant) else " X "
            for piece in pieces
            if not isinstance(piece, ast.Constant) or isinstance(piece.value, str)
        ]
        text = "".join(str(literal) for literal in literals)
        if len(text.split()) >= _FEWEST_WORDS:
            yield Text(name, argument.lineno, text)


def _paragraphs(text: str) -> Iterator[tuple[int, str]]:
    lines: list[str] = []
    for number, line in enumerate([*text.splitlines(), ""]):
        stripped = line.strip()
        if lines and (not stripped or stripped.startswith(("- ", "* ")) or lines[-1].endswith(":")):
            yield number - len(lines), " ".join(lines)
            lines = []
        if stripped:
            lines.append(stripped)
