"""HTML: the text that a reader of the page sees, without menus, scripts and buttons."""

import re
from dataclasses import replace
from datetime import datetime
from typing import Any

import anydoc
from lxml import etree

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.formats.dates import first_date
from heddle_knowledge.formats.office import blocks_of
from heddle_knowledge.formats.webpage_marks import write_marks
from heddle_knowledge.formats.webpage_xml import book_of

MAX_DEPTH = 256
"""Elements in each other that the parser reads."""
_UNSEEN = etree.XPath(
    "//script|//style|//noscript|//template|//svg|//iframe|//nav|//select|//*[@hidden]"
    "|//*[@role='navigation' or @role='search']|/html/body/footer"
    "|//a[contains(@class, 'headerlink')]"
    "|(//h1|//h2|//h3|//h4|//h5|//h6)//a[not(.//img) and translate(., ' #¶§🔗', '')='']"
    "|//*[contains(@class, 'katex-html')]"
    "|//button[not(@aria-expanded or @aria-controls)][not(ancestor::h1 or ancestor::h2"
    " or ancestor::h3 or ancestor::h4 or ancestor::h5 or ancestor::h6)]"
)
_MAIN = etree.XPath("(//main|//*[@role='main'])[1]")
_ARTICLES = etree.XPath("//article")
_LETTERS = etree.XPath("string-length(normalize-space(.))")
_CHARSET = re.compile(
    rb"<(?:meta[^>]+charset|\?xml[^>]+encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE
)
_WHERE_CHARSET_STANDS = 2048
_DECLARATION = re.compile(r"\s*<\?xml[^>]*>")
# When a page was last changed, else when it was published, as publishers write it.
_DATES = (
    "article:modified_time", "og:updated_time", "dateModified", "dcterms.modified",
    "last-modified", "article:published_time", "datePublished", "dcterms.date", "dc.date", "date",
    "pubdate",
)  # fmt: skip
Element = Any
"""An element of lxml, which declares no types."""


def declared_charset(data: bytes) -> str:
    """Return the encoding that a page declares in its first bytes, or an empty text."""
    declaration = _CHARSET.search(data[:_WHERE_CHARSET_STANDS])
    return declaration[1].decode("ascii") if declaration else ""


def read_webpage(text: str) -> ParsedDocument:
    """Read HTML: `<main>` or the only article if it has most of the text, else all.

    Returns:
        Its text; the title is the page's or its first heading, the time that of its description
        or of its first `<time>`.

    Raises:
        UnreadableDocumentError: Its elements nest too deep.
    """
    page = _parsed(text)
    if page is None:
        return ParsedDocument("", ())
    title = " ".join((page.findtext(".//title") or "").split())
    time = _date(page)
    write_marks(page)
    for unread in _UNSEEN(page):
        _remove(unread)
    document = blocks_of(anydoc.to_document(book_of(_content(page)), "epub"), headers=0)
    return replace(document, title=title or document.title, time=time)


def _parsed(text: str) -> Element:
    """Return the root of a page; None if it has no element."""
    parser = etree.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    data = _DECLARATION.sub("", text, count=1).encode("utf-8", "replace")
    try:
        page = etree.fromstring(data, parser)
    except etree.XMLSyntaxError:
        return None
    if any("depth" in error.message.lower() for error in parser.error_log):
        raise UnreadableDocumentError(
            f"The page has more than {MAX_DEPTH} elements in each other. Save its text as Markdown "
            "or plain text and ingest that."
        )
    return page


def _remove(element: Element) -> None:
    """Remove an element, and keep the text after it."""
    parent, before = element.getparent(), element.getprevious()
    if parent is None:
        return
    if before is not None:
        before.tail = (before.tail or "") + (element.tail or "")
    else:
        parent.text = (parent.text or "") + (element.tail or "")
    parent.remove(element)


def _content(page: Element) -> Element:
    whole = _LETTERS(page)
    for elements in (_MAIN(page), _ARTICLES(page)):
        if len(elements) == 1 and 2 * _LETTERS(elements[0]) >= whole > 0:
            return elements[0]
    body = page.find("body")
    return page if body is None else body


def _date(page: Element) -> datetime | None:
    metadata: dict[str, str] = {}
    for element in page.iterfind(".//meta[@content]"):
        names = (element.get(key) for key in ("property", "name", "itemprop", "http-equiv"))
        metadata.setdefault(next(filter(None, names), "").lower(), element.get("content"))
    first = page.find(".//time[@datetime]")
    shown = "" if first is None else first.get("datetime")
    return first_date(*(metadata.get(key.lower(), "") for key in _DATES), shown)
