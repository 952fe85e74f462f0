"""How pages are drawn, sensible ones and others."""

import io
import math

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
import pytest
from heddle_knowledge.pages.reading import drawn_page
from heddle_knowledge.pages.rendering import draw, encoded, open_pdf, scale_of
from heddle_knowledge.pages.shapes import LARGEST_PICTURE
from knowledge.pages.pdfs import pdf
from PIL import Image


def page_of(width: float, height: float) -> bytes:
    with pypdfium2.PdfDocument.new() as made:
        made.new_page(width, height)
        written = io.BytesIO()
        made.save(written)
    return written.getvalue()


def test_a_page_becomes_webp_of_130_dots_per_inch() -> None:
    with open_pdf(pdf("A shed.")) as document:
        page = drawn_page(document, 1)
    image = Image.open(io.BytesIO(page.picture))
    assert image.format == "WEBP"
    assert image.size == (math.ceil(612 * 130 / 72), math.ceil(792 * 130 / 72))
    assert page.page == 1


@pytest.mark.parametrize(
    ("width", "height"), [(14_400, 14_400), (14_400, 3), (200_000, 200_000), (5, 14_400)]
)
def test_a_page_of_any_size_has_a_bounded_picture(width: float, height: float) -> None:
    with open_pdf(page_of(width, height)) as document:
        page = document[0]
        image = draw(page)
        page.close()
    assert image.width * image.height <= 4_100_000
    assert max(image.size) <= 8_001
    assert len(encoded(image)) <= LARGEST_PICTURE


@pytest.mark.parametrize(
    ("width", "height"), [(0, 100), (-5, 5), (math.nan, 5), (math.inf, math.inf)]
)
def test_a_page_without_a_size_has_no_picture(width: float, height: float) -> None:
    with pytest.raises(ValueError, match="no size"):
        scale_of(width, height)


def test_a_page_that_is_not_there_has_no_picture() -> None:
    with open_pdf(pdf("A shed.")) as document:
        assert drawn_page(document, 2).picture == b""


@pytest.mark.exhaustive
def test_a_picture_that_is_too_large_is_halved() -> None:
    noise = Image.effect_noise((4_000, 4_000), 255).convert("RGB")
    data = encoded(noise)
    assert len(data) <= LARGEST_PICTURE
    assert Image.open(io.BytesIO(data)).size in {(2_000, 2_000), (1_000, 1_000)}
