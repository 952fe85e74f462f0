"""Markdown: headings become the path, every other top-level element one block of source text."""

import re
from collections.abc import Mapping

import yaml
from markdown_it import MarkdownIt
from markdown_it.token import Token

from heddle_knowledge.formats.blocks import Outline, ParsedDocument
from heddle_knowledge.formats.contents import without_contents
from heddle_knowledge.formats.dates import first_date

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LONGEST_FRONT_MATTER = 65_536
_TABLE_HEADER = 2  # the names of the columns, and the dashes below them
# When a document was last changed, else when it was made, as generators of sites call it.
_DATES = ("lastmod", "last_modified", "modified", "updated", "date", "created")


# Names of attributes that every document has, and of what files in vector stores have.
_ATTRIBUTES = frozenset({"document", "document_id", "file_id", "media_type", "title", "uri"})
_MAX_ENTRIES, _MAX_KEY, _MAX_VALUE = 32, 64, 1_024


def read_markdown(text: str) -> ParsedDocument:
    """Read Markdown; code fences, tables and lists stay whole and keep their markup.

    Returns:
        Its text without its front matter; the title is that of the front matter or the first
        heading, the time that of the front matter, the metadata its other entries.
    """
    outline = Outline()
    front = _FRONT_MATTER.match(text)
    metadata = _read_front_matter(front[1]) if front else {}
    title = metadata.get("title", "")
    if front:
        text = text[front.end() :]
        if not (metadata and text.strip()):  # text between two rules, or all that there is
            outline.add(front[1])
    text = without_contents(text)
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
            header = None
            if token.type == "table_open":
                header = "\n".join(lines[start : start + _TABLE_HEADER])
            outline.add("\n".join(lines[start:end]), header=header)
    outline.add("\n".join(lines[done:]))
    time = first_date(*(metadata.get(key, "") for key in _DATES))
    rest = {key: value for key, value in metadata.items() if _is_metadata(key, value)}
    entries = dict(list(rest.items())[:_MAX_ENTRIES])
    return ParsedDocument(title, outline.finish(), time, metadata=entries)


def _is_metadata(key: str, value: str) -> bool:
    known = key in _DATES or key in _ATTRIBUTES
    return not known and 1 <= len(key) <= _MAX_KEY and 1 <= len(value) <= _MAX_VALUE


def _read_front_matter(text: str) -> Mapping[str, str]:
    """Return entries of YAML that are texts or lists of them, keys in small letters.

    Of what is no YAML, return nothing.
    """
    try:
        # The base loader makes texts of everything, and resolves no tags.
        metadata = yaml.load(text[:_LONGEST_FRONT_MATTER], yaml.BaseLoader)  # noqa: S506 (it is as safe as the safe one)
    except (yaml.YAMLError, RecursionError, ValueError):
        return {}
    if not isinstance(metadata, dict):
        return {}
    texts = {
        key.lower(): [value] if isinstance(value, str) else value
        for key, value in metadata.items()
        if isinstance(key, str) and isinstance(value, str | list)
    }
    return {
        key: ", ".join(" ".join(each.split()) for each in values)
        for key, values in texts.items()
        if all(isinstance(each, str) for each in values)
    }


def _words(inline: Token) -> str:
    parts = [
        " " if child.type in {"softbreak", "hardbreak"} else child.content
        for child in inline.children or ()
    ]
    return " ".join("".join(parts).split())
