"""Plain text: paragraphs between blank lines, titles that are underlined as in reST, and code."""

import re

from heddle_knowledge.formats.blocks import Outline, ParsedDocument
from heddle_knowledge.formats.contents import without_contents

_BREAK = re.compile(r"\n\s*\n(?=\S)")
_RULE = re.compile(r"([=\-~^\"'*+#.:_`])\1{2,}")


def read_plain(text: str) -> ParsedDocument:
    """Read plain text; the level of a title follows from which underline came first.

    Returns:
        Its text; the title is the one that the text begins with.
    """
    lines = without_contents(text).split("\n")
    outline = Outline()
    styles: list[str] = []
    paragraph: list[str] = []
    first = ""
    at = 0
    while at < len(lines):
        # A title stands alone: text that runs on above it is a paragraph, and the rule a table's.
        title = None if paragraph else _title_at(lines, at)
        if title:
            style, words, length = title
            if style not in styles:
                styles.append(style)
            if not outline.has_text:
                first = first or words
            outline.enter(styles.index(style) + 1, words)
            at += length
            continue
        if lines[at].strip():
            paragraph.append(lines[at])
        else:
            outline.add("\n".join(paragraph))
            paragraph = []
        at += 1
    outline.add("\n".join(paragraph))
    return ParsedDocument(first, outline.finish())


def read_source_code(text: str) -> ParsedDocument:
    """Read source code: a block for each definition, indented lines with the line above them."""
    outline = Outline()
    for part in _BREAK.split(text):
        outline.add(part)
    return ParsedDocument("", outline.finish())


def _title_at(lines: list[str], at: int) -> tuple[str, str, int] | None:
    """Recognise a title: its style, its words, and how many lines it takes."""
    line, below = lines[at].rstrip(), lines[at + 1].rstrip() if at + 1 < len(lines) else ""
    if _RULE.fullmatch(line):
        under = lines[at + 2].rstrip() if at + 2 < len(lines) else ""
        if under == line and below.strip() and len(below) <= len(line):
            return line[0] * 2, below.strip(), 3
        return None
    if line and not line[0].isspace() and _RULE.fullmatch(below) and len(line) <= len(below):
        return below[0], line, 2
    return None
