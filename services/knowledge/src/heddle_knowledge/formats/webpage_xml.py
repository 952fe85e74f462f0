"""A page as an e-book that has its text, lists, tables and formulas, and nothing else."""

import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape, quoteattr
from zipfile import ZipFile

from lxml import etree

from heddle_knowledge.formats.scripts import formula, lowered, raised

Element = Any
"""An element of lxml, which declares no types."""
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code", "data", "del",
    "dfn", "em", "font", "i", "img", "ins", "kbd", "label", "mark", "math", "q", "rp", "rt", "ruby",
    "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_STRUCTURE = frozenset({
    "blockquote", "del", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ol", "s", "strike", "ul",
})  # fmt: skip
_TABLE = frozenset({"caption", "table", "tbody", "td", "tfoot", "th", "thead", "tr"})
_ATTRIBUTES = ("start", "type", "reversed", "value", "rowspan", "colspan")
_SCRIPTS = {"sup": raised, "sub": lowered}
_LAYOUT = etree.XPath("boolean(.//table|.//h1|.//h2|.//h3|.//h4|.//h5|.//h6)")
_MAX_DEPTH = 200  # elements that the reader of the e-book finds in each other
_MAX_LAYOUT_TABLES = 32
"""Tables in each other that are looked through for tables and headings."""
_TEX = ".//annotation[@encoding='application/x-tex']"
_BREAK = "<p></p>"
_NO_XML = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": '<container><rootfiles><rootfile full-path="b.opf"/></rootfiles>'
    "</container>",
    "b.opf": '<package><manifest><item id="a" href="a.xhtml"/></manifest>'
    '<spine><itemref idref="a"/></spine></package>',
}


def book_of(root: Element) -> bytes:
    """Write what is below an element of a page as an e-book with one chapter."""
    body = _NO_XML.sub("", "".join(_Writer().write(root)))
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'
    out = BytesIO()
    with ZipFile(out, "w") as archive:
        for name, text in {**_BOOK, "a.xhtml": page}.items():
            archive.writestr(name, text)
    return out.getvalue()


class _Writer:
    def __init__(self) -> None:
        self._open: list[str] = []  # how each open element ends
        self._tables: list[bool] = []  # the open ones: whether each holds data, not a layout

    def write(self, root: Element) -> Iterator[str]:
        """Yield the elements and texts below the root in reading order."""
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            whole = _written(element)
            if event == "start" and whole is None:
                yield self._start(element) + escape(element.text or "")
            elif event == "start":
                yield whole or ""
                walk.skip_subtree()
            else:
                yield (self._end(element) if whole is None else "") + escape(element.tail or "")

    def _start(self, element: Element) -> str:
        tag = element.tag
        if tag == "table":
            data = any(self._tables) or len(self._tables) >= _MAX_LAYOUT_TABLES
            self._tables.append(data or not _LAYOUT(element))
        is_written = tag in _STRUCTURE or (tag in _TABLE and any(self._tables))
        if tag not in _INLINE and not is_written:
            # A paragraph, or a frame around some, which separates what stands in it.
            is_written, tag = all(child.tag in _INLINE for child in element), "p"
        written = tag if is_written and len(self._open) < _MAX_DEPTH else ""
        if written == "caption":  # a row that names all columns
            self._open.append("</th></tr>")
            return "<tr><th>"
        if not written:
            self._open.append("" if element.tag in _INLINE else _BREAK)
            return self._open[-1]
        self._open.append(f"</{written}>")
        attributes = (
            f" {name}={quoteattr(element.get(name) or name)}"
            for name in _ATTRIBUTES
            if name in element.attrib
        )
        return f"<{tag}{''.join(attributes)}>"

    def _end(self, element: Element) -> str:
        if element.tag == "table":
            self._tables.pop()
        return self._open.pop()


def _written(element: Element) -> str | None:
    """Return an element that is written without looking into it; None for others."""
    tag = element.tag
    if tag == "br":
        return "<br/>"
    if tag == "img":
        return f" {escape(element.get('alt') or '')} "
    if tag == "pre":
        return f"<pre>{escape(''.join(element.itertext()))}</pre>"
    if write := _SCRIPTS.get(tag):
        return escape(write("".join(element.itertext())))
    if tag == "math":
        source = element.findtext(_TEX)
        math = etree.tostring(element, encoding="unicode", with_tail=False)
        return escape(formula(source)) if source else str(math)
    return None
