"""Draws pages of PDFs. Runs in a process of its own, which a hostile file may hang or crash."""

import io
import math

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
from PIL import Image

from heddle_knowledge.pages.shapes import LARGEST_PICTURE

_DOTS_PER_POINT = 130 / 72
_MOST_PIXELS = 4_000_000  # A3 at 130 dpi has 3.3 million
_LONGEST_SIDE = 8_000  # pixels; WebP ends at 16,383
_QUALITY = 70
_ENCODERS_EFFORT = 2  # of 6: a third larger than the best, in a fifth of the time


def open_pdf(data: bytes) -> pypdfium2.PdfDocument:
    """Open a PDF.

    Raises:
        pypdfium2.PdfiumError: It is damaged, encrypted, or no PDF.
    """
    return pypdfium2.PdfDocument(data)


def scale_of(width: float, height: float) -> float:
    """Return the dots per point of a page, at most as many as keep the picture small enough.

    Args:
        width: In points, as the file says: any number, and not always a sensible one.
        height: Likewise.

    Raises:
        ValueError: The page has no size.
    """
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise ValueError("the page has no size")
    return min(
        _DOTS_PER_POINT,
        math.sqrt(_MOST_PIXELS / (width * height)),
        _LONGEST_SIDE / max(width, height),
    )


def draw(page: pypdfium2.PdfPage) -> Image.Image:
    """Draw one page at 130 dots per inch, or as many as a large one can have.

    Raises:
        ValueError: The page has no size.
        pypdfium2.PdfiumError: It cannot be drawn.
    """
    bitmap = page.render(scale=scale_of(*page.get_size()), rev_byteorder=True)
    try:
        drawn: Image.Image = bitmap.to_pil().convert("RGB")  # a copy: the bitmap goes
    finally:
        bitmap.close()
    return drawn


def encoded(image: Image.Image) -> bytes:
    """Return an image as WebP of at most `LARGEST_PICTURE` bytes.

    Raises:
        ValueError: Even a small one has more.
    """
    for _ in range(4):
        written = io.BytesIO()
        image.save(written, "WEBP", quality=_QUALITY, method=_ENCODERS_EFFORT)
        if written.tell() <= LARGEST_PICTURE:
            return written.getvalue()
        image = image.resize((max(1, image.width // 2), max(1, image.height // 2)))
    raise ValueError("the picture is too large")
