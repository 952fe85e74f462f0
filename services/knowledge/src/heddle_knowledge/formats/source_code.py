"""Source code: a block for each definition, indented lines with the line above them."""

import re

from heddle_knowledge.formats.blocks import Outline, ParsedDocument

_BREAK = re.compile(r"\n\s*\n(?=\S)")


def read_source_code(text: str) -> ParsedDocument:
    """Read source code as it is written."""
    outline = Outline()
    for part in _BREAK.split(text):
        outline.add(part)
    return ParsedDocument("", outline.finish())
