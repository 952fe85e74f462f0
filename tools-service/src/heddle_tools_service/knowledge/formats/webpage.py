"""HTML: the text that a reader of the page sees, without menus, scripts and forms."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from heddle_tools_service.knowledge.blocks import Block, Outline

_UNSEEN = ["script", "style", "noscript", "template", "svg", "iframe", "nav", "form", "button"]
_HEADING = re.compile(r"h([1-6])")
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_CHARSET = re.compile(rb"<meta[^>]+charset\s*=\s*[\"']?\s*([A-Za-z0-9_.:-]+)", re.IGNORECASE)
_WHERE_CHARSET_STANDS = 2048


def declared_charset(data: bytes) -> str:
    """Return the encoding that a page declares in its first bytes, or an empty text."""
    found = _CHARSET.search(data[:_WHERE_CHARSET_STANDS])
    return found[1].decode("ascii") if found else ""


def read_webpage(text: str) -> tuple[str, tuple[Block, ...]]:
    """Read HTML: `<main>` where the page has one with text, else the whole body.

    Returns:
        The page's title or first heading, or an empty text, and the blocks.
    """
    tree = LexborHTMLParser(text)
    tree.strip_tags(_UNSEEN)
    named = tree.css_first("title")
    title = " ".join(named.text().split()) if named else ""
    root = tree.css_first("main, [role=main]")
    if root is None or not root.text().strip():
        root = tree.body
    page = _Page()
    if root is not None:
        page.walk(root)
    return title or page.first_heading, page.outline.finish()


class _Page:
    """Walks a tree without recursion, for pages nest deeper than Python's stack."""

    def __init__(self) -> None:
        self.outline = Outline()
        self.first_heading = ""
        self._line: list[str] = []
        self._tables = 0

    def walk(self, root: LexborNode) -> None:
        """Visit every node below the root in reading order."""
        entered: list[LexborNode] = []
        node = root.first_child
        while node is not None:
            inside = node.first_child if self._enter(node) else None
            if inside is not None:
                entered.append(node)
                node = inside
                continue
            self._leave(node)
            while node.next is None and entered:
                node = entered.pop()
                self._leave(node)
            node = node.next
        self._flush()

    def _enter(self, node: LexborNode) -> bool:
        """Begin a node; say whether its children are to be visited."""
        tag = node.tag or ""
        if node.is_text_node:
            self._line.append(re.sub(r"\s+", " ", node.text_content or ""))
        elif tag == "br":
            self._line.append("\n")
        elif tag == "pre":
            self._flush()
            self.outline.add(node.text())
            return False
        elif heading := _HEADING.fullmatch(tag):
            self._flush()
            words = " ".join(node.text().split())
            self.first_heading = self.first_heading or words
            self.outline.enter(int(heading[1]), words)
            return False
        elif node.is_element_node and tag not in _INLINE:
            self._break(tag, entering=True)
        return node.is_element_node

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if node.is_element_node and tag not in _INLINE and tag != "br":
            self._break(tag, entering=False)

    def _break(self, tag: str, *, entering: bool) -> None:
        """Separate what a block element separates; a table stays one block, a line per row."""
        if tag == "table":
            if not self._tables or not entering:
                self._tables += 1 if entering else -1
                if not self._tables or entering:
                    self._flush()
            else:
                self._tables += 1
        elif not self._tables:
            self._flush()
            if tag == "li" and entering:
                self._line.append("- ")
        elif tag == "tr":
            self._line.append("\n")
        elif tag in {"td", "th"} and entering:
            self._line.append(" | ")
        else:
            self._line.append(" ")

    def _flush(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self._line).split("\n"))
        kept = "\n".join(line.removeprefix("| ") for line in lines if line and line != "-")
        self._line = []
        self.outline.add(kept)
