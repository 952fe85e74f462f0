"""Archives of office files and e-books from strangers: what may be unpacked, and its preparation.

The library that reads them knows no superscripts, symbols and slide numbers. They are written into
the text of a copy first.
"""

import re
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from typing import Any
from zipfile import BadZipFile, ZipFile

from lxml import etree

from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.formats.dates import first_date
from heddle_knowledge.formats.scripts import lowered, raised
from heddle_knowledge.formats.symbols import symbol
from heddle_knowledge.formats.webpage_marks import write_marks

LARGEST = 200_000_000
"""Bytes that all files of an archive may have unpacked."""
LARGEST_XML = 60_000_000
"""Bytes that one of them may have that is XML, of which a tree takes some twenty times as many."""
MOST_FILES = 10_000
Element = Any
"""An element of lxml, which declares no types."""
_XML = (".xml", ".rels", ".xhtml", ".html", ".htm", ".opf", ".ncx")
_READ = (*_XML, ".css", "mimetype")
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".emf", ".wmf", ".svg", ".tif", ".tiff", ".bmp")
_PROPERTIES = re.compile(r"docProps/core\.xml|meta\.xml|.*\.opf")
_MARKED = re.compile(
    rb"vertAlign|:vanish|:del\b|:sym [^>]*char=|baseline=|text-position|<su[bp]\b|style=|<input"
    rb"|:position|noBreakHyphen|:ffData|<strike"
)
_SLIDE = re.compile(r"ppt/slides/slide\d+\.xml")
_SLIDE_LINK = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/slide"
_SHEET = "{http://schemas.openxmlformats.org/spreadsheetml"
_OFF = frozenset({"0", "false", "off"})
_NUMBER = re.compile(r"[0-9+\-−]+")  # noqa: RUF001 (a minus sign)
_XHTML = "{http://www.w3.org/1999/xhtml}"
_LINK = "{http://schemas.openxmlformats.org/package/2006/relationships}Relationship"


def check_archive(data: bytes, name: str) -> None:
    """Refuse an archive that unpacks to too much, before anything of it is unpacked.

    The sizes that it states are kept: `zipfile` reads no more of a file than its stated size.

    Raises:
        UnreadableDocumentError: It is too large, encrypted, or no archive.
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            files = archive.infolist()
    except (BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise damaged(name) from error
    xml = max((file.file_size for file in files if _is_xml(file.filename)), default=0)
    whole = sum(file.file_size for file in files)
    if len(files) > MOST_FILES or whole > LARGEST or xml > LARGEST_XML:
        raise UnreadableDocumentError(
            f"{name!r} unpacks to more than {LARGEST:,} bytes ({LARGEST_XML:,} of text with its "
            f"markup) or {MOST_FILES:,} files. Take pictures out of it, or split it into smaller "
            "documents."
        )


def damaged(name: str) -> UnreadableDocumentError:
    """Return the refusal of a file that its reader does not understand."""
    return UnreadableDocumentError(
        f"{name!r} is damaged, encrypted, or not of the type that its name says. Open it in the "
        "program that made it, remove its password, and save it again."
    )


def prepared(data: bytes) -> tuple[bytes, str, datetime | None]:
    """Copy an archive without pictures, with superscripts, symbols and slide numbers in its text.

    Returns:
        The copy, and the title and the time of change that its properties tell.

    Raises:
        zipfile.BadZipFile: It is damaged, as are `ValueError`, `zlib.error` and others of zipfile.
    """
    title, time = "", None
    out = BytesIO()
    with ZipFile(BytesIO(data)) as archive, ZipFile(out, "w") as copy:
        names = [name for name in archive.namelist() if name.lower().endswith(_READ)]
        slides = [name.replace("\\", "/") for name in names if _SLIDE.fullmatch(name)]
        styles = _raised_styles(archive, names)
        linked = False
        for original in dict.fromkeys(names):
            content = archive.read(original)
            name = original.replace("\\", "/")
            if _PROPERTIES.fullmatch(name):
                title, time = _properties(content)
            if slides and not linked and name.startswith("ppt/slides/_rels/"):
                content, linked = _rewritten(content, lambda tree: _link(tree, slides)), True
            elif styles or (_is_xml(name) and _MARKED.search(content)):
                content = _rewritten(content, lambda tree: _mark(tree, styles))
            copy.writestr(name, content)
        for picture in dict.fromkeys(
            it for it in archive.namelist() if it.lower().endswith(_PICTURES)
        ):
            copy.writestr(picture.replace("\\", "/"), b"")  # the reader counts those that are there
    return out.getvalue(), title, time


def _is_xml(file: str) -> bool:
    return file.lower().endswith(_XML)


def _tree(content: bytes) -> Element:
    """Parse XML without entities; None if it is damaged, which the reader then tells."""
    try:
        return etree.fromstring(content, etree.XMLParser(resolve_entities=False, no_network=True))
    except etree.XMLSyntaxError:
        return None


def _rewritten(content: bytes, change: Callable[[Element], None]) -> bytes:
    tree = _tree(content)
    if tree is None or b"<!ENTITY" in content:
        return content
    change(tree)
    return bytes(etree.tostring(tree.getroottree(), encoding="utf-8"))


def _properties(content: bytes) -> tuple[str, datetime | None]:
    tree = _tree(content)
    if tree is None:
        return "", None
    values: dict[str, str] = {}
    for element in tree.iter("{*}*"):
        key = str(element.get("property") or etree.QName(element).localname)
        values.setdefault(key.removeprefix("dcterms:"), " ".join((element.text or "").split()))
    times = (values.get(key, "") for key in ("modified", "date", "created", "creation-date"))
    return values.get("title", ""), first_date(*times)


def _link(tree: Element, slides: list[str]) -> None:
    """Link to every slide: the reader marks the beginnings of slides that are linked to."""
    for at, slide in enumerate(slides):
        link = etree.SubElement(tree, _LINK)
        link.attrib.update({"Id": f"slide{at}", "Type": _SLIDE_LINK, "Target": f"/{slide}"})


_Write = Callable[[str], str]


def _raised_styles(archive: ZipFile, names: list[str]) -> dict[str, _Write]:
    """Return how the styles of a document that raise or lower text write it, by their names."""
    styles: dict[str, _Write] = {}
    for name in names:
        if name.endswith(("styles.xml", "content.xml")):
            content = archive.read(name)
            tree = _tree(content) if _MARKED.search(content) else None
            for style in () if tree is None else tree.iter("{*}style"):
                properties = style.find("{*}rPr")
                if properties is None:
                    properties = style.find("{*}text-properties")
                write = None if properties is None else _writing(properties)
                if write:
                    styles[_value(style, "styleId") or _value(style, "name")] = write
    return styles


def _writing(properties: Element) -> _Write | None:
    """Return how text with these properties is written; None if it stands on the line."""
    align = properties.find("{*}vertAlign")
    place = (
        (_value(align, "val") if align is not None else "")
        or properties.get("baseline", "")
        or _value(properties, "text-position")
    )
    if place.startswith("su"):
        return raised if place.startswith("super") else lowered
    number = re.match(r"-?\d+", place)
    level = int(number[0]) if number else 0
    return (raised if level > 0 else lowered) if level else None


def _mark(tree: Element, styles: dict[str, _Write]) -> None:
    _remove_hidden(tree)
    for element in tree.findall(".//{*}r/{*}sym"):
        element.tag = element.tag.replace("}sym", "}t")
        code = int(_value(element, "char") or "0", 16)
        element.text = symbol(_value(element, "font"), code)
    for element in tree.findall(".//{*}r/{*}noBreakHyphen"):
        element.tag, element.text = element.tag.replace("}noBreakHyphen", "}t"), "-"
    for field in tree.findall(".//{*}r/{*}fldChar/{*}ffData"):
        _write_field(field)
    for run in tree.iter("{*}r"):
        properties = run.find("{*}rPr")
        if properties is not None:
            style = properties.find("{*}rStyle")
            named = styles.get(_value(style, "val")) if style is not None else None
            texts = list(run.iterchildren("{*}t"))
            _write(texts, _writing(properties) or named or _shifted(properties, texts))
            if properties.find("{*}strike") is not None and run.tag.startswith(_SHEET):
                _write(texts, lambda text: f" ~~{text}~~ ")
    if tree.tag == f"{_XHTML}html":
        write_marks(tree)
    for span in tree.iter("{*}span"):
        _write([span], styles.get(_value(span, "style-name")))
    _write(tree.iter(f"{_XHTML}sup"), raised)
    _write(tree.iter(f"{_XHTML}sub"), lowered)


def _shifted(properties: Element, texts: list[Element]) -> _Write | None:
    """Return how a number is written that stands higher or lower than its line."""
    position = properties.find("{*}position")
    if position is None or not all(_NUMBER.fullmatch(text.text or "") for text in texts):
        return None
    return lowered if _value(position, "val").startswith("-") else raised


def _write_field(field: Element) -> None:
    """Write the state of an old form field of Word, whose text says nothing of it."""
    ticked, choices = field.find("{*}checkBox"), field.findall("{*}ddList/{*}listEntry")
    text = ""
    if ticked is not None:
        states = [it for name in ("checked", "default") for it in ticked.findall(f"{{*}}{name}")]
        text = "[x]" if states and _value(states[0], "val") not in _OFF else ""
    elif choices:
        result = field.find("{*}ddList/{*}result")
        chosen = int(_value(result, "val") or 0) if result is not None else 0
        text = _value(choices[chosen], "val") if chosen < len(choices) else ""
    run = field.getparent().getparent()
    before = etree.Element(run.tag)  # what stands in a field up to its end is its instruction
    etree.SubElement(before, run.tag.removesuffix("}r") + "}t").text = text
    run.addprevious(before)


def _remove_hidden(tree: Element) -> None:
    """Remove hidden runs and deleted rows, and join paragraphs whose ends were deleted."""
    for mark in [*tree.iterfind(".//{*}r/{*}rPr/{*}vanish"), *tree.iterfind(".//{*}trPr/{*}del")]:
        hidden = mark.getparent().getparent()
        if _value(mark, "val") not in _OFF and hidden.getparent() is not None:
            hidden.getparent().remove(hidden)
    for mark in tree.iterfind(".//{*}p/{*}pPr/{*}rPr/{*}del"):
        paragraph = mark.getparent().getparent().getparent()
        following = paragraph.getnext()
        if following is not None and following.tag == paragraph.tag:
            content = [part for part in paragraph if not part.tag.endswith("}pPr")]
            at = 1 if following.find("{*}pPr") is not None else 0
            following[at:at] = content
            paragraph.getparent().remove(paragraph)


def _write(elements: Any, write: _Write | None) -> None:  # noqa: ANN401 - elements of lxml
    if write is None:
        return
    for element in elements:
        for part in element.iter():
            part.text = write(part.text) if part.text and isinstance(part.tag, str) else part.text
            if part is not element and part.tail:
                part.tail = write(part.tail)


def _value(element: Element, key: str) -> str:
    """Return the value of an attribute, whatever its namespace."""
    for name, value in element.attrib.items():
        if name.rpartition("}")[2] == key:
            return str(value)
    return ""
