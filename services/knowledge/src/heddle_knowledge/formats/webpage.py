"""HTML: the text that a reader of the page sees, without menus, scripts and forms."""

import re
from datetime import datetime

from selectolax.lexbor import LexborHTMLParser, LexborNode

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.formats.dates import first_date
from heddle_knowledge.formats.webpage_depth import MAX_DEPTH, exceeds_depth
from heddle_knowledge.formats.webpage_text import PageText

_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "nav", "form", "button"]
_NAVIGATION = "[role=navigation], [role=search], [hidden], body > footer"
_MAIN = "main, [role=main]"
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_WHERE_CHARSET_STANDS = 2048
# When a page was last changed, else when it was published, as publishers write it.
_DATES = (
    "article:modified_time", "og:updated_time", "dateModified", "dcterms.modified",
    "last-modified", "article:published_time", "datePublished", "dcterms.date", "dc.date", "date",
    "pubdate",
)  # fmt: skip


def declared_charset(data: bytes) -> str:
    """Return the encoding that a page declares in its first bytes, or an empty text."""
    declaration = _CHARSET.search(data[:_WHERE_CHARSET_STANDS])
    return declaration[1].decode("ascii") if declaration else ""


def read_webpage(text: str) -> ParsedDocument:
    """Read HTML: `<main>` where the page has one with text, else its only article, else all.

    Returns:
        Its text; the title is the page's or its first heading, the time that of its description
        or of its first `<time>`.

    Raises:
        UnreadableDocumentError: Its elements nest too deep.
    """
    if exceeds_depth(text):
        raise UnreadableDocumentError(
            f"The page has more than {MAX_DEPTH} elements in each other. Save its text as Markdown "
            "or plain text and ingest that."
        )
    tree = LexborHTMLParser(text)
    tree.strip_tags(_UNSEEN)
    named = tree.css_first("title")
    title = " ".join(named.text().split()) if named else ""
    time = _date(tree)
    for unread in tree.css(_NAVIGATION):
        unread.decompose()
    page = PageText()
    root = _content(tree)
    if root is not None:
        page.walk(root)
    return ParsedDocument(title or page.first_heading, page.finish(), time)


def _content(tree: LexborHTMLParser) -> LexborNode | None:
    for nodes in (tree.css(_MAIN)[:1], tree.css("article")):
        if len(nodes) == 1 and nodes[0].text().strip():
            return nodes[0]
    return tree.body


def _date(tree: LexborHTMLParser) -> datetime | None:
    metadata: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        names = (node.attributes.get(key) for key in ("property", "name", "itemprop", "http-equiv"))
        metadata.setdefault(next(filter(None, names), "").lower(), node.attributes["content"] or "")
    first = tree.css_first("time[datetime]")
    shown = (first.attributes["datetime"] or "") if first else ""
    return first_date(*(metadata.get(key.lower(), "") for key in _DATES), shown)
