"""Small PDFs: pages with a text layer, pages that are pictures, and pages that nobody can draw."""

import io
from collections.abc import Sequence
from pathlib import Path

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
from knowledge.store.making import pdf
from PIL import Image, ImageDraw, ImageFont

__all__ = ["cut", "joined", "pdf", "scan"]
_PAGE = (850, 1_100)  # letter at 100 dots per inch


def scan(*pages: str) -> bytes:
    """Return a PDF whose pages are pictures of text, line by line."""
    drawn = []
    for text in pages:
        image = Image.new("RGB", _PAGE, "white")
        pen = ImageDraw.Draw(image)
        font = ImageFont.load_default(36)
        for row, line in enumerate(text.splitlines()):
            pen.text((80, 120 + 70 * row), line, fill="black", font=font)
        drawn.append(image)
    written = io.BytesIO()
    drawn[0].save(written, "PDF", save_all=True, append_images=drawn[1:], resolution=100)
    return written.getvalue()


def cut(manual: Path, pages: Sequence[int]) -> bytes:
    """Return some pages of a manual, counted from 1."""
    with pypdfium2.PdfDocument(manual) as whole, pypdfium2.PdfDocument.new() as some:
        some.import_pages(whole, [page - 1 for page in pages])
        written = io.BytesIO()
        some.save(written)
    return written.getvalue()


def joined(*documents: bytes) -> bytes:
    """Return a PDF with the pages of several."""
    with pypdfium2.PdfDocument.new() as whole:
        for data in documents:
            with pypdfium2.PdfDocument(data) as part:
                whole.import_pages(part)
        written = io.BytesIO()
        whole.save(written)
    return written.getvalue()
