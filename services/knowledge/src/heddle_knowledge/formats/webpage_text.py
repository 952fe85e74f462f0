"""From the tree of a page to blocks: paragraphs, lists and tables as they are seen."""

import re

from selectolax.lexbor import LexborNode

from heddle_knowledge.formats.blocks import Block, Outline

_HEADING = re.compile(r"h([1-6])")
_INLINE = frozenset({
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em",
    "font", "i", "img", "ins", "kbd", "label", "mark", "q", "rp", "rt", "ruby", "s", "samp",
    "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
})  # fmt: skip
_LAYOUT = "table, h1, h2, h3, h4, h5, h6"
_LISTS = frozenset({"ul", "ol", "menu"})
_MAX_INDENTS = 16
"""Levels of lists that are indented. Lists in each other could multiply their text otherwise."""
_MAX_LAYOUT_TABLES = 32
"""Tables in each other that are looked through for tables and headings."""
_INDENT = "\0\0"  # two spaces that stay; no text of a document has the sign


class PageText:
    """Walks a tree without recursion, for pages nest deeper than Python's stack."""

    def __init__(self) -> None:
        """Begin before the first node."""
        self.first_heading = ""
        self._outline = Outline()
        self._line: list[str] = []
        self._open_tables: list[bool] = []  # whether each holds data, and not the page's layout
        self._tables = 0
        self._rows: list[bool] = []  # of the open table: whether each names columns
        self._lists: list[int | None] = []  # open lists: the last number, or None for bullets
        self._labelled = 0  # pieces of the line up to the last label

    def finish(self) -> tuple[Block, ...]:
        """Return the blocks."""
        return self._outline.finish()

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
        """Begin a node; return whether to visit its children."""
        tag = node.tag or ""
        if node.is_text_node:
            self._line.append(re.sub(r"\s+", " ", node.text_content or ""))
        elif tag == "br":
            self._line.append(" " if self._tables else self._new_line(len(self._lists)))
        elif tag == "pre":
            self._flush()
            self._outline.add(node.text())
            return False
        elif heading := _HEADING.fullmatch(tag):
            self._flush()
            words = " ".join(node.text().split())
            self.first_heading = self.first_heading or words
            self._outline.enter(int(heading[1]), words)
            return False
        elif tag == "table":
            self._enter_table(node)
        elif node.is_element_node and tag not in _INLINE:
            self._break(tag, entering=True)
        return node.is_element_node

    def _leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "table":
            self._tables -= self._open_tables.pop()
            if not self._tables:
                self._flush()
        elif node.is_element_node and tag not in _INLINE and tag != "br":
            self._break(tag, entering=False)

    def _enter_table(self, node: LexborNode) -> None:
        holds_data = bool(self._tables)
        if not self._tables:
            self._flush()
            deep = len(self._open_tables) >= _MAX_LAYOUT_TABLES
            # The table itself is found, too.
            holds_data = deep or len(node.css(_LAYOUT)) <= 1
        self._open_tables.append(holds_data)
        self._tables += holds_data

    def _break(self, tag: str, *, entering: bool) -> None:
        if self._tables:
            self._break_in_table(tag, entering=entering)
        elif tag in _LISTS:
            self._break_at_list(tag, entering=entering)
        elif not self._lists:
            self._flush()
        elif tag == "li" and entering:
            self._line.append(self._new_line(len(self._lists) - 1) + self._label())
            self._labelled = len(self._line)
        elif len(self._line) > self._labelled:
            self._line.append(self._new_line(len(self._lists)))

    def _break_in_table(self, tag: str, *, entering: bool) -> None:
        """Give each row of the outermost table a line."""
        if self._tables > 1 or tag not in {"tr", "td", "th"}:
            self._line.append(" ")
        elif entering and tag == "tr":
            self._line.append("\n")
            self._rows.append(True)
        elif entering:
            self._line.append(" | ")
            if tag == "td" and self._rows:
                self._rows[-1] = False

    def _break_at_list(self, tag: str, *, entering: bool) -> None:
        """Keep a list and those in it together."""
        if not self._lists:
            self._flush()
        if entering:
            self._lists.append(0 if tag == "ol" else None)
        elif self._lists:
            self._lists.pop()
            if not self._lists:
                self._flush()

    def _new_line(self, level: int) -> str:
        return "\n" + _INDENT * min(level, _MAX_INDENTS)

    def _label(self) -> str:
        number = self._lists[-1]
        if number is None:
            return "- "
        self._lists[-1] = number + 1
        return f"{number + 1}. "

    def _flush(self) -> None:
        lines = [
            " ".join(line.split()).removeprefix("| ") for line in "".join(self._line).split("\n")
        ]
        written = [line.replace("\0", " ") for line in lines if line.strip("\0") not in {"", "-"}]
        header = None
        if self._rows:
            named = next((at for at, names in enumerate(self._rows) if not names), 1)
            above = sum(
                1 for line in lines[: 1 + named] if line
            )  # what precedes the first row, too
            header = "\n".join(written[:above]) if named else ""
        self._line, self._rows, self._labelled = [], [], 0
        self._outline.add("\n".join(written), header=header)
