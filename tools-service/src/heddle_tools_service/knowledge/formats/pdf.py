"""PDF: the text layer, one block per page."""

import re
from collections.abc import Mapping
from types import MappingProxyType

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations

from heddle_tools_service.knowledge.blocks import Block, Outline
from heddle_tools_service.knowledge.errors import UnreadableDocumentError

MOST_PAGES = 5_000
_PASSWORD = 4  # FPDF_ERR_PASSWORD
# PDFium marks a word that is broken at the end of a line with one of these in place of the hyphen.
_BROKEN_WORD = re.compile("[\ufffe\x02]\n?")


def read_pdf(
    data: bytes, name: str, scanned: Mapping[int, str] = MappingProxyType({})
) -> tuple[str, tuple[Block, ...]]:
    """Read the text layer of a PDF, page by page.

    Args:
        data: The file.
        name: The document's name, for messages.
        scanned: What was read off pages that are pictures, by their numbers from 1.

    Returns:
        The title of its metadata, or an empty text, and a block for each page that has text.

    Raises:
        UnreadableDocumentError: It is damaged, needs a password, or has too many pages.
    """
    try:
        with pypdfium2.PdfDocument(data) as document:
            if len(document) > MOST_PAGES:
                raise UnreadableDocumentError(
                    f"{name!r} has {len(document):,} pages; at most {MOST_PAGES:,} can be read. "
                    "Split it into smaller documents."
                )
            title = " ".join(str(document.get_metadata_dict().get("Title", "")).split())
            outline = Outline()
            for number in range(len(document)):
                text = scanned.get(number + 1) or page_text(document, number)
                outline.add(text, page=number + 1)
    except pypdfium2.PdfiumError as error:
        if error.err_code == _PASSWORD:
            raise UnreadableDocumentError(
                f"{name!r} is encrypted. Remove its password and ingest it again."
            ) from error
        raise UnreadableDocumentError(
            f"{name!r} is damaged or no PDF. Open it in a viewer and save it again as PDF."
        ) from error
    return title, outline.finish()


def page_text(document: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text layer of a page, counted from 0."""
    page = document[number]
    try:
        layer = page.get_textpage()
        try:
            text = str(layer.get_text_bounded())
        finally:
            layer.close()
    finally:
        page.close()
    return _BROKEN_WORD.sub("", text.replace("\r\n", "\n").replace("\0", ""))
