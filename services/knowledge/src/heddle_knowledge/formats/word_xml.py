"""The XML of Word documents, as much of it as reading takes."""

from typing import Any

from docx.opc.part import Part, XmlPart
from docx.oxml.ns import nsmap, qn
from docx.oxml.parser import parse_xml

Element = Any
"""An element of lxml, which declares no types."""
VAL = qn("w:val")


def root_of(part: Part) -> Element:
    """Return the root of a part."""
    return part.element if isinstance(part, XmlPart) else parse_xml(part.blob)


def related(document: Part, kind: str, path: str) -> list[Element]:
    """Return the elements of a path in another part of a document; none if it has no such part."""
    try:
        root = root_of(document.part_related_by(kind))
    except KeyError:
        return []
    return list(root.iterfind(path, nsmap))


def has(element: Element, path: str) -> bool:
    """Return whether an element has a descendant of a path, such as `w:pPr/w:rPr/w:del`."""
    return element.find(path, nsmap) is not None


def value(element: Element, path: str) -> str:
    """Return the value of the property of a path, or an empty text."""
    property_ = element.find(path, nsmap)
    return "" if property_ is None else property_.get(VAL, "")
