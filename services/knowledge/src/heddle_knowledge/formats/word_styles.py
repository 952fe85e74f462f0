"""What the styles and lists of a Word document mean for its text."""

from collections import defaultdict

from docx.opc.constants import RELATIONSHIP_TYPE as RT
from docx.opc.part import Part
from docx.oxml.ns import qn

from heddle_knowledge.formats.word_xml import (
    DEEPEST,
    Element,
    level,
    related,
    value,
)

_INHERITED = 20  # styles that follow from each other; a circle of them ends here


class Styles:
    """The headings and lists of a document."""

    def __init__(self, document: Part) -> None:
        """Read the styles and the numbering of a document, as far as it has any."""
        styles = related(document, RT.STYLES)
        elements = [] if styles is None else styles.findall(qn("w:style"))
        self._styles = {style.get(qn("w:styleId")): style for style in elements}
        self._formats = _number_formats(related(document, RT.NUMBERING))
        self._counts: defaultdict[str, dict[int, int]] = defaultdict(dict)

    def level(self, paragraph: Element) -> int | None:
        """Return the level of a heading, 1 the highest, 0 a title; or None."""
        properties = paragraph.find(qn("w:pPr"))
        for source in self._sources(paragraph):
            outline = source.find(qn("w:outlineLvl"))
            if outline is None:
                continue
            depth = level(outline)
            return depth + 1 if depth < DEEPEST else None
        style = self._style(properties)
        named = value(style.find(qn("w:name"))) if style is not None else ""
        return 0 if named.lower() == "title" else None

    def label(self, paragraph: Element) -> str:
        """Return what stands before an entry of a list, indented; empty for other paragraphs.

        Numbers count on with each call, so call it once for each paragraph, in their order.
        """
        number = ""
        depth: int | None = None
        for source in self._sources(paragraph):
            numbering = source.find(qn("w:numPr"))
            if numbering is None:
                continue
            number = number or value(numbering.find(qn("w:numId")))
            level_element = numbering.find(qn("w:ilvl"))
            depth = level(level_element) if depth is None and level_element is not None else depth
        if number in {"", "0"}:
            return ""
        depth = depth or 0
        counts = self._counts[number]
        counts[depth] = counts.get(depth, 0) + 1
        for deeper in [known for known in counts if known > depth]:
            del counts[deeper]
        bullet = self._formats.get((number, depth), "bullet") in {"bullet", "none"}
        return "  " * depth + ("- " if bullet else f"{counts[depth]}. ")

    def _sources(self, paragraph: Element) -> list[Element]:
        """Return the properties that hold for a paragraph, its own first."""
        properties = paragraph.find(qn("w:pPr"))
        elements = [] if properties is None else [properties]
        style = self._style(properties)
        for _ in range(_INHERITED):
            if style is None:
                break
            inherited = style.find(qn("w:pPr"))
            elements += [] if inherited is None else [inherited]
            style = self._styles.get(value(style.find(qn("w:basedOn"))))
        return elements

    def _style(self, properties: Element | None) -> Element | None:
        return (
            None if properties is None else self._styles.get(value(properties.find(qn("w:pStyle"))))
        )


def _number_formats(numbering: Element | None) -> dict[tuple[str, int], str]:
    """Return how the levels of each list are numbered: `bullet`, `decimal` and others."""
    if numbering is None:
        return {}
    kinds = {
        kind.get(qn("w:abstractNumId")): {
            level(level_element, qn("w:ilvl")): value(level_element.find(qn("w:numFmt")))
            for level_element in kind.findall(qn("w:lvl"))
        }
        for kind in numbering.findall(qn("w:abstractNum"))
    }
    return {
        (number.get(qn("w:numId")), depth): written
        for number in numbering.findall(qn("w:num"))
        for depth, written in kinds.get(value(number.find(qn("w:abstractNumId"))), {}).items()
    }
