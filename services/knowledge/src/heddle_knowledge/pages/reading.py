"""Makes of a page of a PDF its picture, its text and its figures."""

import numpy as np
import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
from PIL import Image

from heddle_knowledge.formats.pdf_page import FEWEST_CHARACTERS, is_garbled, page_text
from heddle_knowledge.pages.recognition import Box, Recogniser
from heddle_knowledge.pages.rendering import draw, encoded
from heddle_knowledge.pages.shapes import (
    LONGEST_TEXT,
    DrawnPage,
)


def drawn_page(document: pypdfium2.PdfDocument, number: int) -> DrawnPage:
    """Draw a page, counted from 1. One that cannot be drawn has no picture."""
    try:
        return DrawnPage(number, encoded(_image(document, number)))
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return DrawnPage(number)


def read_page(document: pypdfium2.PdfDocument, number: int, recogniser: Recogniser) -> DrawnPage:
    """Draw a page, counted from 1, and read it with all that stands in its figures."""
    try:
        text = page_text(document, number - 1).strip()
        image = _image(document, number)
        picture = encoded(image)
    except (pypdfium2.PdfiumError, ValueError, OSError):
        return DrawnPage(number)
    if is_garbled(text):
        text = ""
    pixels = np.asarray(image)
    scanned = len("".join(text.split())) < FEWEST_CHARACTERS
    lines = recogniser.lines(pixels) if scanned else None
    layer = _Layer(document, number, image)
    figures = recogniser.figures(pixels, layer.within, lines)
    if lines:
        text = "\n".join(line.text for line in lines)
    # What stands in the text layer already is not said twice.
    beyond = [seen for _, seen in figures if seen and seen not in text and not scanned]
    whole = "\n\n".join(filter(None, (text, *beyond)))[:LONGEST_TEXT]
    figure_texts = (": ".join(filter(None, figure)) for figure in figures)
    return DrawnPage(number, picture, whole, tuple(filter(None, figure_texts)), scanned=bool(lines))


class _Layer:
    """The text layer of a page by places of its picture."""

    def __init__(self, document: pypdfium2.PdfDocument, number: int, image: Image.Image) -> None:
        self._document = document
        self._number = number
        self._size = image.size

    def within(self, box: Box) -> str:
        """Return the text within a box of the picture; none of a page that is turned."""
        page = self._document[self._number - 1]
        try:
            if page.get_rotation():
                return ""
            left, bottom, right, top = page.get_cropbox()
            across, down = (right - left) / self._size[0], (top - bottom) / self._size[1]
            layer = page.get_textpage()
            try:
                text: str = layer.get_text_bounded(
                    left=left + box[0] * across,
                    bottom=top - box[3] * down,
                    right=left + box[2] * across,
                    top=top - box[1] * down,
                )
            finally:
                layer.close()
        finally:
            page.close()
        return " ".join(text.replace("\0", "").split())


def _image(document: pypdfium2.PdfDocument, number: int) -> Image.Image:
    page = document[number - 1]
    try:
        return draw(page)
    finally:
        page.close()
