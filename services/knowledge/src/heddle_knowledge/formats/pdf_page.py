"""A page of a PDF as lines: its text layer from top to bottom, and the values of its forms."""

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]  # likewise

from heddle_knowledge.formats.scripts import lowered, raised

# PDFium marks a word that is broken at the end of a line with one of these in place of the hyphen.
_BROKEN_WORD = re.compile("[\ufffe\x02]\n?")
_SCRIPT = re.compile(r"[\w)\]](?: ?[0-9+−-])+")  # noqa: RUF001 (a minus sign)
_LAM_ALEF = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_LIGATURES = str.maketrans({
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
    "\ufb05": "st", "\ufb06": "st",
})  # fmt: skip
_SMALLER, _SHIFT = 0.9, 0.12  # of the height of the character before
_MAX_ANNOTATIONS = 2_000
_MAX_VALUE = 10_000


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    left: float
    right: float
    bottom: float
    top: float


def page_text(document: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text of a page, counted from 0, with the values of its forms and its notes."""
    page = document[number]
    try:
        layer = page.get_textpage()
        try:
            text = str(layer.get_text_range())
            if len(text) == layer.count_chars():
                lines = _ordered(list(_lines(layer, text, page.get_bbox())))
                text = "\n".join(line.text for line in lines)
            else:  # places are unknown
                lines, text = [], str(layer.get_text_bounded())
        finally:
            layer.close()
        values = list(_values(document, page))
    finally:
        page.close()
    if lines and values:
        text = "\n".join(line.text for line in _with_values(lines, values))
    elif values:
        text = "\n".join((text, *(value.text for value in values)))
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _BROKEN_WORD.sub("", text).translate(_LIGATURES)


def _lines(
    layer: pypdfium2.PdfTextPage, text: str, box: tuple[float, float, float, float]
) -> Iterator[_Line]:
    """Yield the lines within the box of a page; one that shows nothing has the place of the last.

    Text outside of the box of a page is invisible.
    """
    last = _Line("", 0, 0, 0, 0)
    start = 0
    for line in text.split("\r\n"):
        words = line.strip()
        if words:
            first = start + line.index(words[0])
            left, bottom, _, top = layer.get_charbox(first, loose=True)
            _, _, right, _ = layer.get_charbox(first + len(words) - 1, loose=True)
            last = _Line("", min(left, right), max(left, right), bottom, top)
        outside = last.right <= box[0] or last.left >= box[2]
        if not outside and last.top > box[1] and last.bottom < box[3]:
            yield replace(last, text=_true(layer, line, start))
        start += len(line) + 2


def _true(layer: pypdfium2.PdfTextPage, line: str, start: int) -> str:
    """Return a line with its superscripts and subscripts, and its ligatures of Arabic in order."""

    def script(match: re.Match[str]) -> str:
        text, place = match[0], start + match.start()
        # A space that PDFium adds belongs to what follows it.
        places = [place + at + (sign == " ") for at, sign in enumerate(text)]
        writes = [_writing(layer, place, each) for each in places[1:]]
        groups = groupby(zip(text[1:], writes, strict=True), lambda pair: pair[1])
        parts = ((write, "".join(sign for sign, _ in group)) for write, group in groups)
        return text[0] + "".join(
            part if write is None else write(part.strip()) for write, part in parts
        )

    def ligature(match: re.Match[str]) -> str:
        place = start + match.start()
        same = layer.get_charbox(place) == layer.get_charbox(place + 1)
        return match[0][::-1] if same else match[0]  # both letters are one character of the font

    # A ligature keeps its length, so the places stay; superscripts come last.
    return _SCRIPT.sub(script, _LAM_ALEF.sub(ligature, line))


def _writing(layer: pypdfium2.PdfTextPage, base: int, place: int) -> Callable[[str], str] | None:
    """Return how a smaller character above or below the line of another is written, else None."""
    left, bottom, right, top = layer.get_charbox(base, loose=True)
    start, low, _, high = layer.get_charbox(place, loose=True)
    height = top - bottom
    if high - low > _SMALLER * height or start < (left + right) / 2:
        return None
    if low > bottom + _SHIFT * height:
        return raised
    return lowered if high < top - _SHIFT * height else None


def _ordered(lines: list[_Line]) -> list[_Line]:
    """Return lines from top to bottom if they are one column that was written in another order."""
    jumps = any(
        after.bottom > before.top and _overlap(before, after) for before, after in pairwise(lines)
    )
    if not jumps:
        return lines
    rows = sorted(lines, key=lambda line: (-line.bottom, line.left))
    beside = any(
        abs(above.bottom - below.bottom) < (above.top - above.bottom) / 2
        and not _overlap(above, below)
        for above, below in pairwise(rows)
    )
    return lines if beside else rows


def _overlap(line: _Line, other: _Line) -> bool:
    return min(line.right, other.right) > max(line.left, other.left)


def _with_values(lines: list[_Line], values: list[_Line]) -> list[_Line]:
    """Put each value at the end of the line of its height, else between the lines around it."""
    placed = list(lines)
    for value in values:
        middle = (value.bottom + value.top) / 2
        for at, line in enumerate(placed):
            if line.text.strip() and line.bottom <= middle <= line.top:
                placed[at] = replace(line, text=f"{line.text.rstrip()} {value.text}")
                break
            if line.text.strip() and line.top < middle:
                placed.insert(at, value)
                break
        else:
            placed.append(value)
    return placed


def _values(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[_Line]:
    """Yield what was filled into the fields of a page, and the notes that are printed on it."""
    count = min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)
    for number in range(count):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            text = _value(document, annotation)
            box = pdfium.FS_RECTF()
            if text.strip() and pdfium.FPDFAnnot_GetRect(annotation, box):
                yield _Line(text, box.left, box.right, box.bottom, box.top)
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)


def _value(document: pypdfium2.PdfDocument, annotation: object) -> str:
    kind = pdfium.FPDFAnnot_GetSubtype(annotation)
    if kind == pdfium.FPDF_ANNOT_FREETEXT:
        return _string(pdfium.FPDFAnnot_GetStringValue, annotation, b"Contents")
    form = document.formenv
    if kind != pdfium.FPDF_ANNOT_WIDGET or form is None:
        return ""
    field = pdfium.FPDFAnnot_GetFormFieldType(form, annotation)
    if field in {pdfium.FPDF_FORMFIELD_CHECKBOX, pdfium.FPDF_FORMFIELD_RADIOBUTTON}:
        return "[x]" if pdfium.FPDFAnnot_IsChecked(form, annotation) else ""
    if field == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
        return ""
    return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)


def _string(read: object, *arguments: object) -> str:
    """Return a text that PDFium writes into a buffer, at most 10,000 characters of it."""
    call = read if callable(read) else None
    length = call(*arguments, None, 0) if call else 0
    if not call or length <= 2:  # noqa: PLR2004 (the empty text and its end)
        return ""
    buffer = ctypes.create_string_buffer(length)
    units = ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR))
    call(*arguments, units, length)
    with suppress(UnicodeError):
        return buffer.raw[: length - 2].decode("utf-16-le", "replace")[:_MAX_VALUE]
    return ""
