"""What styles and controls of a page say, as elements and text: raised numbers, filled forms."""

import re
from typing import Any

from heddle_knowledge.formats.scripts import formula

Element = Any
"""An element of lxml, which declares no types."""
_STYLES = (
    (re.compile(r"vertical-align:\s*super"), "sup"),
    (re.compile(r"vertical-align:\s*sub"), "sub"),
    (re.compile(r"text-decoration[a-z-]*:[^;]*line-through"), "del"),
)
_SPAN = ("{*}span", "{*}font", "{*}small", "{*}b", "{*}i", "{*}em", "{*}strong")
_UNWRITTEN = frozenset({"button", "file", "hidden", "password", "reset", "submit"})
_TICKED = "[x]"


def write_marks(page: Element) -> None:
    """Write what styles, controls and drawings show as elements that have no attributes.

    Struck, raised and lowered text becomes `del`, `sup` and `sub`; fields, choices, formulas and
    described drawings become `span` with their text.
    """
    for element in page.iter(*_SPAN):
        style = (element.get("style") or "").lower()
        tag = next((tag for pattern, tag in _STYLES if pattern.search(style)), None)
        if tag:
            element.tag = f"{element.tag.rpartition('}')[0]}}}{tag}".removeprefix("}")
    for element in [*page.iter("{*}input", "{*}select", "{*}script", "{*}svg")]:
        text = _shown(element)
        if text.strip():
            tail, at = element.tail, element.tag.rpartition("}")
            element.clear()
            element.tag = f"{at[0]}{at[1]}span"
            element.text, element.tail = f" {text} ", tail


def _shown(element: Element) -> str:
    """Return the text that a control or drawing shows; empty if it shows none."""
    tag = element.tag.rpartition("}")[2]
    if tag == "script":
        is_formula = (element.get("type") or "").startswith("math/tex")
        return formula(element.text or "") if is_formula else ""
    if tag == "select":
        chosen = [it for it in element.iter("{*}option") if "selected" in it.attrib]
        return " ".join(" ".join("".join(it.itertext()).split()) for it in chosen)
    if tag == "svg":
        named = element.get("aria-label") or element.findtext("{*}title") or ""
        return named if element.get("role") == "img" else ""
    kind = (element.get("type") or "text").lower()
    if kind in {"checkbox", "radio"}:
        return _TICKED if "checked" in element.attrib else ""
    shown = element.get("alt" if kind == "image" else "value") or ""
    return "" if kind in _UNWRITTEN else shown
