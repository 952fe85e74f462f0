"""The XML of Word documents, as much of it as reading takes."""

from collections.abc import Iterator
from typing import Protocol, Self, cast

from docx.opc.part import Part, XmlPart
from docx.oxml.ns import qn
from docx.oxml.parser import parse_xml

VAL = qn("w:val")
DEEPEST = 9
"""Levels that headings and lists have."""


class Element(Protocol):
    """What this package needs of an element of lxml, which declares no types."""

    @property
    def tag(self) -> object:
        """Its name; of comments and the like no text."""

    @property
    def text(self) -> str | None:
        """The text before its first child."""

    def get(self, key: str, default: str = "", /) -> str:
        """Return an attribute."""

    def find(self, path: str, /) -> Self | None:
        """Return the first child of a path of names, or None."""

    def findall(self, path: str, /) -> list[Self]:
        """Return all children of a path of names."""

    def __iter__(self) -> Iterator[Self]:
        """Yield the children."""


def root_of(part: Part) -> Element:
    """Return the root of a part."""
    return cast("Element", part.element if isinstance(part, XmlPart) else parse_xml(part.blob))


def related(document: Part, kind: str) -> Element | None:
    """Return the root of another part of a document, or None."""
    try:
        return root_of(document.part_related_by(kind))
    except KeyError:
        return None


def value(element: Element | None) -> str:
    """Return the value of a property, or an empty text."""
    return "" if element is None else element.get(VAL, "")


def level(element: Element, attribute: str = VAL) -> int:
    """Return the value of a property that is a level from 0; what is none lies below all."""
    written = element.get(attribute, "")
    return min(int(written), DEEPEST) if written in map(str, range(DEEPEST)) else DEEPEST
