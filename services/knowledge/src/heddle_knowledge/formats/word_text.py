"""The words of a Word document's paragraphs, without what was deleted or hidden."""

from collections.abc import Iterator

from docx.oxml.ns import qn

from heddle_knowledge.formats.word_xml import Element

_MATH = "{http://schemas.openxmlformats.org/officeDocument/2006/math}t"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXT = {qn("w:t"), _MATH}
_SIGNS = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
_NOTES = {qn("w:footnoteReference"): "foot", qn("w:endnoteReference"): "end"}
_PARAGRAPH = qn("w:p")
# Properties, what was deleted or moved away, and older forms of what stands beside them.
_UNREAD = {
    qn("w:pPr"), qn("w:rPr"), qn("w:del"), qn("w:moveFrom"), qn("w:tblPr"), qn("w:trPr"),
    qn("w:tcPr"), qn("w:sectPr"), qn("w:sdtPr"), qn("w:instrText"), qn("w:delText"), _FALLBACK,
}  # fmt: skip
_OFF = {"0", "false", "off"}


class Notes:
    """Footnotes and endnotes, handed out where the text refers to them."""

    def __init__(self, footnotes: Element | None, endnotes: Element | None) -> None:
        """Take the notes of a document; None where it has none."""
        self._known = {
            (kind, note.get(qn("w:id"))): note
            for kind, notes in (("foot", footnotes), ("end", endnotes))
            for note in (() if notes is None else notes)
            if isinstance(note.tag, str) and not note.get(qn("w:type"))
        }
        self._count = 0
        self._waiting: list[str] = []

    def refer(self, kind: str, number: str) -> str:
        """Return the mark that stands in the text, and keep the note for `take`."""
        note = self._known.pop((kind, number), None)
        if note is None:
            return ""
        self._count += 1
        mark = f"[{self._count}]"
        self._waiting.append(f"{mark} {' '.join(text_of(note, self).split())}")
        return mark

    def take(self) -> list[str]:
        """Return the notes that were referred to since the last time."""
        taken, self._waiting = self._waiting, []
        return taken


def within(container: Element, tags: set[str]) -> Iterator[Element]:
    """Yield the outermost elements of some kinds, in order, but not those that were deleted."""
    for child in container:
        if child.tag in tags:
            yield child
        elif isinstance(child.tag, str) and child.tag not in _UNREAD:
            yield from within(child, tags)


def text_of(element: Element, notes: Notes) -> str:
    """Return the text of a paragraph, a cell or a note."""
    return "".join(_pieces(element, notes))


def _pieces(element: Element, notes: Notes) -> Iterator[str]:
    for child in element:
        tag = child.tag
        if tag in _TEXT:
            yield child.text or ""
        elif tag in _SIGNS:
            yield _SIGNS[tag]
        elif tag in _NOTES:
            yield notes.refer(_NOTES[tag], child.get(qn("w:id")))
        elif not isinstance(tag, str) or tag in _UNREAD or _hidden(child):
            continue
        elif tag == _PARAGRAPH:  # in a cell, a note or a text box
            yield from ("\n", *_pieces(child, notes), "\n")
        else:
            yield from _pieces(child, notes)


def _hidden(run: Element) -> bool:
    hidden = run.find(f"{qn('w:rPr')}/{qn('w:vanish')}")
    return hidden is not None and hidden.get(qn("w:val"), "1") not in _OFF
