"""Writes Markdown: tables, code and text of comments."""

import json
import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table, or nothing if there is no row."""
    lines = [f"| {' | '.join(map(cell, row))} |" for row in rows]
    if not lines:
        return ""
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines, ""])


def cell(text: str) -> str:
    """Return `text` in the form that a cell of a table can hold."""
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("|", r"\|")


def code(text: object) -> str:
    """Return `text` as code within a line, or nothing."""
    return f"`{text}`" if text not in ("", None) else ""


def block(text: str, language: str) -> str:
    """Return `text` as a block of code."""
    return f"```{language}\n{text.strip()}\n```\n"


def as_json(value: object) -> str:
    """Return `value` as a block of JSON."""
    return block(json.dumps(value, indent=2, ensure_ascii=False), "json")


def anchor(name: str) -> str:
    """Return the anchor of a heading."""
    return re.sub(r"[^a-z0-9_]+", "-", name.lower()).strip("-")


def page(title: str, *parts: str) -> str:
    """Return a page of `parts`, with an empty line between them."""
    return "\n\n".join([f"# {title}", *(part.strip("\n") for part in parts if part.strip())]) + "\n"
