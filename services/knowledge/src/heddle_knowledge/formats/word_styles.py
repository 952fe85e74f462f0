"""The meaning of the styles and lists of a Word document for its text."""

import re
from collections import defaultdict

from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.part import Part
from docx.oxml.ns import nsmap, qn

from heddle_knowledge.formats.word_xml import Element, related, value

_LEVELS = tuple("012345678")  # of headings and lists
_CONTENTS = re.compile(r"toc (?:[1-9]|heading)|table of figures")
_INHERITED = 20  # styles that follow from each other; a circle of them ends here


class Styles:
    """The headings and lists of a document."""

    def __init__(self, document: Part) -> None:
        """Read the styles and the numbering of a document, as far as it has any."""
        styles = related(document, RT.STYLES, "w:style")
        self._styles = {style.get(qn("w:styleId")): style for style in styles}
        self._formats = _number_formats(document)
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def level(self, paragraph: Element) -> int | None:
        """Return the level of a heading, 1 the highest, 0 a title; or None."""
        if depth := self._property(paragraph, "w:outlineLvl"):
            return int(depth) + 1 if depth in _LEVELS else None
        return 0 if self._name(paragraph) == "title" else None

    def is_contents(self, paragraph: Element) -> bool:
        """Return whether a paragraph is a line of contents, which Word copies from headings."""
        return _CONTENTS.fullmatch(self._name(paragraph)) is not None

    def label(self, paragraph: Element) -> str:
        """Return the label before an entry of a list, indented; empty for other paragraphs.

        Numbers count on with each call, so call it once for each paragraph, in their order.
        """
        number = self._property(paragraph, "w:numPr/w:numId")
        if number in {"", "0"}:
            return ""
        written = self._property(paragraph, "w:numPr/w:ilvl") or "0"
        depth = int(written) if written in _LEVELS else len(_LEVELS)
        counts = self._counts[number]
        counts[depth] = counts.get(depth, 0) + 1
        for deeper in [known for known in counts if known > depth]:
            del counts[deeper]
        bullet = self._formats.get((number, written), "bullet") in {"bullet", "none"}
        return "  " * depth + ("- " if bullet else f"{counts[depth]}. ")

    def _name(self, paragraph: Element) -> str:
        style = self._styles.get(value(paragraph, "w:pPr/w:pStyle"))
        return "" if style is None else value(style, "w:name").lower()

    def _property(self, paragraph: Element, path: str) -> str:
        source, reference = paragraph, "w:pPr/w:pStyle"
        for _ in range(_INHERITED):
            if source is None:
                break
            if setting := value(source, f"w:pPr/{path}"):
                return setting
            source = self._styles.get(value(source, reference))
            reference = "w:basedOn"
        return ""


def _number_formats(document: Part) -> dict[tuple[str, str], str]:
    abstract = {
        kind.get(qn("w:abstractNumId")): kind
        for kind in related(document, RT.NUMBERING, "w:abstractNum")
    }
    formats: dict[tuple[str, str], str] = {}
    for number in related(document, RT.NUMBERING, "w:num"):
        kind = abstract.get(value(number, "w:abstractNumId"))
        for level in () if kind is None else kind.iterfind("w:lvl", nsmap):
            formats[number.get(qn("w:numId")), level.get(qn("w:ilvl"))] = value(level, "w:numFmt")
    return formats
