"""Markdown: headings become the path, every other top-level element one block of source text."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from heddle_tools_service.knowledge.blocks import Block, Outline

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*(.+?)[ \t]*$", re.MULTILINE)


def read_markdown(text: str) -> tuple[str, tuple[Block, ...]]:
    """Read Markdown; code fences, tables and lists stay whole and keep their markup.

    Returns:
        The title of the front matter or the first heading, or an empty text, and the blocks.
    """
    outline = Outline()
    title = ""
    front = _FRONT_MATTER.match(text)
    if front:
        named = _TITLE.search(front[1])
        title = named[1].strip("\"'") if named else ""
        outline.add(front[1])
        text = text[front.end() :]
    lines = text.split("\n")
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    done = 0
    for index, token in enumerate(tokens):
        if token.level or token.map is None:
            continue
        start, end = token.map
        # Link definitions make no token; their lines are text all the same.
        outline.add("\n".join(lines[done:start]))
        done = max(done, end)
        if token.type == "heading_open":
            words = _words(tokens[index + 1])
            title = title or words
            outline.enter(int(token.tag[1:]), words)
        elif token.nesting >= 0:
            outline.add("\n".join(lines[start:end]))
    outline.add("\n".join(lines[done:]))
    return title, outline.finish()


def _words(inline: Token) -> str:
    """Return the text of a heading without its markup."""
    parts = [
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in inline.children or ()
    ]
    return " ".join("".join(parts).split())
