"""A page of a PDF as lines, as it is printed: with its forms, notes and stamps."""

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import groupby, pairwise

import pypdfium2  # type: ignore[import-untyped]  # ships no annotations
import pypdfium2.raw as pdfium  # type: ignore[import-untyped]  # likewise

from heddle_knowledge.formats.pdf_lines import (
    Line,
    Place,
    Word,
    around,
    ordered,
    parts,
    turned,
    with_tables,
    with_values,
)
from heddle_knowledge.formats.scripts import lowered, raised

# PDFium marks a word that is broken at the end of a line with one of these in place of the hyphen.
_BROKEN_WORD = re.compile("[\ufffe\x02]\n?")
_SCRIPT = re.compile(r"[\w)\]](?: ?[0-9+−-])+")  # noqa: RUF001 (a minus sign)
_EXPONENT = re.compile(r"[+−-]?\w{1,4}(?: |$)")  # noqa: RUF001 (a minus sign)
_ENDS_IN_SCRIPT = re.compile("[⁰¹²³⁴-⁹₀-₉]$")
_LAM_ALEF = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
_LIGATURES = str.maketrans({
    "\ufb00": "ff", "\ufb01": "fi", "\ufb02": "fl", "\ufb03": "ffi", "\ufb04": "ffl",
    "\ufb05": "st", "\ufb06": "st",
})  # fmt: skip
FEWEST_CHARACTERS = 16
"""Of a page that was written; a scan may have its number in its text layer."""
_LETTERS = 0.45
"""The share of letters and digits below which a text is noise."""
_JUDGED_CHARACTERS = 100
_LEADERS = re.compile(r"[\s.…·_]+")
_TICKED = "[x]"
_SMALLER, _SHIFT, _SINK = 0.9, 0.12, 0.02  # of the height of the character before
_WORD = re.compile(r"\S+")
_NUMBER = re.compile(r"[(+−–-]?[$€£]?[\d.,:/]*\d[\d.,:/]*[%)]?")  # noqa: RUF001 (a minus sign, a dash)
_BOLD = 600
_MAX_ANNOTATIONS = 2_000
_MAX_VALUE = 10_000


class _Layer:
    """The text layer of a page, with places as they show on a page that is turned."""

    def __init__(self, layer: pypdfium2.PdfTextPage, page: pypdfium2.PdfPage) -> None:
        self.page = layer
        self._rotation = page.get_rotation()
        box = turned(page.get_bbox(), self._rotation)
        self.box = box if box.right > box.left and box.top > box.bottom else None

    def place(self, at: int) -> Place:
        """Return the place of a character."""
        return turned(self.page.get_charbox(at, loose=True), self._rotation)


def page_text(document: pypdfium2.PdfDocument, number: int) -> str:
    """Return the text of a page, counted from 0, as it is printed."""
    return "\n".join(line.text for line in page_lines(document, number))


def page_lines(document: pypdfium2.PdfDocument, number: int) -> list[Line]:
    """Return the lines of a page, counted from 0, with the contents of fields, notes and stamps.

    They are drawn into the page of the document for this.
    """
    page = document[number]
    layer = page.get_textpage()
    try:
        values = _values(document, page, number, layer.count_chars())
        text = str(layer.get_text_range())
        if len(text) == layer.count_chars():
            return _page_lines(_Layer(layer, page), text, values)
        text = str(layer.get_text_bounded())  # places are unknown
    finally:
        layer.close()
        page.close()
    plain = (*text.replace("\r\n", "\n").split("\n"), *(value.text for value in values))
    return [Line(_clean(line)) for line in plain]


def is_garbled(text: str) -> bool:
    """Return whether a page is written in a font of unknown characters: its text is noise."""
    signs = _LEADERS.sub("", text)
    letters = sum(map(str.isalnum, signs))
    return len(signs) >= _JUDGED_CHARACTERS and letters < _LETTERS * len(signs)


def has_picture(document: pypdfium2.PdfDocument, number: int) -> bool:
    """Return whether a page, counted from 0, shows a picture."""
    page = document[number]
    try:
        return any(page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE]))
    finally:
        page.close()


def _page_lines(layer: _Layer, text: str, values: list[Line]) -> list[Line]:
    def written(start: int, end: int) -> str:
        return _true(layer, text[start:end], start)

    lines = with_values(ordered(list(_joined(_lines(layer, text, 0)))), values)
    return [
        replace(line, text=clean)
        for line in with_tables(lines, written)
        for clean in _clean(line.text).split("\n")
    ]


def _values(
    document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage, number: int, own: int
) -> list[Line]:
    """Draw what lies over a page into it, and return what it says; `own` are other characters."""
    if not pdfium.FPDFPage_GetAnnotCount(page):
        return []
    notes = list(_notes(document, page))
    again = document[number]
    pdfium.FPDFPage_Flatten(again, pdfium.FLAT_NORMALDISPLAY)
    again.close()
    again = document[number]
    layer = again.get_textpage()
    try:
        placed = _Layer(layer, again)
        text = str(layer.get_text_range())[own:]
        values = [
            Line(
                _true(placed, text[part[0].start - own : part[-1].end - own], part[0].start),
                around(part),
            )
            for line in _lines(placed, text, own)
            for part in parts(line.words)
        ]
    finally:
        layer.close()
        again.close()
    for note in notes:
        within = [value for value in values if note.place.has(value.place)]
        if note.text == _TICKED or not within:
            values = [it for it in values if it not in within or len(it.text) > 1]
            values.append(note)
    return values


def _clean(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _BROKEN_WORD.sub("", lines).translate(_LIGATURES)


def _lines(layer: _Layer, text: str, start: int) -> Iterator[Line]:
    """Yield the lines within the box of a page; one that shows nothing has the place of the last.

    Text outside of the box of a page is invisible.
    """
    last = Line("")
    for line in text.split("\r\n"):
        words = tuple(_words(layer, line, start))
        if words:
            size, weight = _writing_of(layer, words[0].start)
            last = Line("", around(words), words, size, bold=weight >= _BOLD)
        place = last.place
        if layer.box is None or layer.box.meets(place):
            yield replace(last, text=_true(layer, line, start), words=words)
        start += len(line) + 2


def _joined(lines: Iterable[Line]) -> Iterator[Line]:
    """Yield lines; a script on a line of its own, and what follows it, are of the one before."""
    last: Line | None = None
    base: Place | None = None  # of the last word
    scripted = False
    for line in lines:
        text = ""
        if last and base and line.words and not _is_row(last.words):
            first, *rest = line.words
            write = _script_of(base, first.place) if _EXPONENT.match(line.text) else None
            gap = first.place.left - base.right
            if write and (not rest or rest[0].place.beside(base)):
                sign, _, after = line.text.partition(" ")
                text = write(sign) + (f" {after}" if after else "")
                base = rest[-1].place if rest else replace(base, right=first.place.right)
            elif scripted and first.place.beside(base) and -_SHIFT < gap / base.height < 1:
                text = f"{' ' if gap > _SHIFT * base.height else ''}{line.text}"
                base = line.words[-1].place
        scripted = bool(_ENDS_IN_SCRIPT.search(line.text)) or bool(text)
        if last and text:
            last = replace(last, text=last.text.rstrip() + text, words=())
            continue
        if last:
            yield last
        last, base = line, line.words[-1].place if line.words else None
    if last:
        yield last


def _is_row(words: Sequence[Word]) -> bool:
    """Return whether there are gaps between words as between the cells of a table."""
    pairs = pairwise(word.place for word in words)
    return any(after.left - before.right > before.height for before, after in pairs)


def _script_of(base: Place, place: Place) -> Callable[[str], str] | None:
    """Return how a word is written that is a script of the one before it, else None."""
    if not _is_script(base, place) or not base.bottom < place.top <= base.top + base.height:
        return None
    if place.bottom > base.bottom + _SHIFT * base.height:
        return raised if place.bottom < base.top else None
    return lowered if _is_lower(base, place) else None


def _is_lower(base: Place, place: Place) -> bool:
    """Return whether a smaller character sinks below the line of another; code in text does not."""
    sinks = place.bottom < base.bottom - _SINK * base.height
    return sinks and place.top < base.top - _SHIFT * base.height


def _words(layer: _Layer, line: str, start: int) -> Iterator[Word]:
    """Yield the words of a line; a script is of the word before it."""
    last: Word | None = None
    for match in _WORD.finditer(line):
        at, end = start + match.start(), start + match.end()
        place = layer.place(at)
        ends = (place, layer.place(end - 1)) if end > at + 1 else (place,)
        left, right = min(it.left for it in ends), max(it.right for it in ends)
        place = Place(left, right, place.bottom, place.top)
        is_number = bool(_NUMBER.fullmatch(match[0]))
        if last and _is_script(last.place, place):
            last = Word(last.start, end, around([last, Word(at, end, place, is_number)]), is_number)
            continue
        if last:
            yield last
        last = Word(at, end, place, is_number)
    if last:
        yield last


def _is_script(base: Place, place: Place) -> bool:
    near = -base.height < place.left - base.right < _SHIFT * base.height
    return near and place.height < _SMALLER * base.height


def _writing_of(layer: _Layer, at: int) -> tuple[float, int]:
    """Return the size of a character on the page, and how heavy it is."""
    matrix = pdfium.FS_MATRIX()
    scale = 1.0
    if pdfium.FPDFText_GetMatrix(layer.page, at, matrix):
        scale = max(abs(matrix.d), abs(matrix.b)) or 1.0
    size = pdfium.FPDFText_GetFontSize(layer.page, at) * scale
    return round(size, 1), int(pdfium.FPDFText_GetFontWeight(layer.page, at))


def _true(layer: _Layer, line: str, start: int) -> str:
    """Return a line with its superscripts and subscripts, and its ligatures of Arabic in order."""

    def script(match: re.Match[str]) -> str:
        text, place = match[0], start + match.start()
        # A space that PDFium adds belongs to what follows it.
        places = [place + at + (sign == " ") for at, sign in enumerate(text)]
        writes = [_writing(layer, place, each) for each in places[1:]]
        groups = groupby(zip(text[1:], writes, strict=True), lambda pair: pair[1])
        parts = ((write, "".join(sign for sign, _ in group)) for write, group in groups)
        return text[0] + "".join(
            write(part.strip()) if write and re.search(r"\d", part) else part
            for write, part in parts
        )

    def ligature(match: re.Match[str]) -> str:
        place = start + match.start()
        same = layer.place(place) == layer.place(place + 1)
        return match[0][::-1] if same else match[0]  # both letters are one character of the font

    # A ligature keeps its length, so the places stay; superscripts come last.
    return _SCRIPT.sub(script, _LAM_ALEF.sub(ligature, line))


def _writing(layer: _Layer, base: int, place: int) -> Callable[[str], str] | None:
    """Return how a smaller character above or below the line of another is written, else None."""
    line, sign = layer.place(base), layer.place(place)
    if sign.height > _SMALLER * line.height or sign.left < (line.left + line.right) / 2:
        return None
    if sign.bottom > line.bottom + _SHIFT * line.height:
        return raised
    return lowered if _is_lower(line, sign) else None


def _notes(document: pypdfium2.PdfDocument, page: pypdfium2.PdfPage) -> Iterator[Line]:
    """Yield what fields and notes of a page hold."""
    count = min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)
    for number in range(count):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        try:
            text = _value(document, annotation)
            box = pdfium.FS_RECTF()
            if text.strip() and pdfium.FPDFAnnot_GetRect(annotation, box):
                sides = box.left, box.bottom, box.right, box.top
                yield Line(text, turned(sides, page.get_rotation()))
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
        return _TICKED if pdfium.FPDFAnnot_IsChecked(form, annotation) else ""
    if field == pdfium.FPDF_FORMFIELD_PUSHBUTTON:
        return ""
    return _string(pdfium.FPDFAnnot_GetFormFieldValue, form, annotation)


def _string(read: Callable[..., int], *arguments: object) -> str:
    """Return a text that PDFium writes into a buffer, at most 10,000 characters of it."""
    length = read(*arguments, None, 0)
    if length <= 2:  # noqa: PLR2004 (the empty text and its end)
        return ""
    buffer = ctypes.create_string_buffer(length)
    units = ctypes.cast(buffer, ctypes.POINTER(pdfium.FPDF_WCHAR))
    read(*arguments, units, length)
    with suppress(UnicodeError):
        return buffer.raw[: length - 2].decode("utf-16-le", "replace")[:_MAX_VALUE]
    return ""
