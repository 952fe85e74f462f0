"""The words of a Word document's paragraphs, without what was deleted or hidden."""

from collections.abc import Iterator

from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.part import Part
from docx.oxml.ns import qn

from heddle_knowledge.formats.word_xml import Element, has, related, value

_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_TEXT = {qn("w:t"), qn("m:t")}
_SIGNS = {
    qn("w:tab"): "\t",
    qn("w:br"): "\n",
    qn("w:cr"): "\n",
    qn("w:noBreakHyphen"): "-",
}
_NOTES = (
    (qn("w:footnoteReference"), RT.FOOTNOTES, "w:footnote"),
    (qn("w:endnoteReference"), RT.ENDNOTES, "w:endnote"),
)
_REFERENCES = {reference for reference, _, _ in _NOTES}
_PARAGRAPH = qn("w:p")
# Properties, what was deleted or moved away, and older forms of what stands beside them.
_UNREAD = {
    qn("w:pPr"), qn("w:rPr"), qn("w:del"), qn("w:moveFrom"), qn("w:tblPr"), qn("w:trPr"),
    qn("w:tcPr"), qn("w:sectPr"), qn("w:sdtPr"), qn("w:instrText"), qn("w:delText"), _FALLBACK,
}  # fmt: skip
_OFF = {"0", "false", "off"}


class Notes:
    """Footnotes and endnotes, handed out where the text refers to them."""

    def __init__(self, document: Part) -> None:
        """Take the notes of a document, as far as it has any."""
        self._known = {
            (reference, note.get(qn("w:id"))): note
            for reference, kind, path in _NOTES
            for note in related(document, kind, path)
            if not note.get(qn("w:type"))
        }
        self._count = 0
        self._waiting: list[str] = []

    def refer(self, reference: Element) -> str:
        """Return the mark that stands in the text, and keep the note for `take`."""
        note = self._known.pop((reference.tag, reference.get(qn("w:id"))), None)
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
        elif tag in _REFERENCES:
            yield notes.refer(child)
        elif not isinstance(tag, str) or tag in _UNREAD or _hidden(child):
            continue
        elif tag == _PARAGRAPH:  # in a cell, a note or a text box
            yield from ("\n", *_pieces(child, notes), "\n")
        else:
            yield from _pieces(child, notes)


def _hidden(run: Element) -> bool:
    return has(run, "w:rPr/w:vanish") and value(run, "w:rPr/w:vanish") not in _OFF
