"""Small files of office programs, made by hand; `docx_of` of `making` makes those of Word."""

from knowledge.store.making import zipped

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006"
DRAWING = "http://schemas.openxmlformats.org/drawingml/2006/main"
SLIDES = "http://schemas.openxmlformats.org/presentationml/2006/main"
CELLS = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ODF = "urn:oasis:names:tc:opendocument:xmlns"


def _rels(*links: tuple[str, str]) -> bytes:
    inner = "".join(
        f'<Relationship Id="r{number}" Type="{OFFICE}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(links)
    )
    return f'<Relationships xmlns="{PACKAGE}/relationships">{inner}</Relationships>'.encode()


def _types(part: str, kind: str) -> bytes:
    kind = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    return (
        f'<Types xmlns="{PACKAGE}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        f'<Override PartName="/{part}" ContentType="{kind}"/></Types>'
    ).encode()


def run(text: str, properties: str = "") -> str:
    """Write a run of DrawingML."""
    return f"<a:r><a:rPr {properties}/><a:t>{text}</a:t></a:r>"


def pptx(*slides: tuple[str, str]) -> bytes:
    """Write a presentation; of each slide the runs of its only paragraph, and its notes."""
    spaces = f'xmlns:p="{SLIDES}" xmlns:a="{DRAWING}" xmlns:r="{OFFICE}"'
    ids = "".join(f'<p:sldId id="{256 + at}" r:id="r{at}"/>' for at in range(len(slides)))
    files = {
        "[Content_Types].xml": _types("ppt/presentation.xml", "presentationml.presentation"),
        "_rels/.rels": _rels(("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": f"<p:presentation {spaces}><p:sldIdLst>{ids}</p:sldIdLst>"
        "</p:presentation>".encode(),
        "ppt/_rels/presentation.xml.rels": _rels(
            *(("slide", f"slides/slide{at}.xml") for at in range(1, len(slides) + 1))
        ),
    }
    for at, (runs, notes) in enumerate(slides, start=1):
        shape = "<p:sp><p:nvSpPr><p:nvPr/></p:nvSpPr><p:txBody><a:p>{}</a:p></p:txBody></p:sp>"
        tree = f"<p:cSld><p:spTree>{shape}</p:spTree></p:cSld>"
        files[f"ppt/slides/slide{at}.xml"] = f"<p:sld {spaces}>{tree.format(runs)}</p:sld>".encode()
        links = [("notesSlide", f"../notesSlides/n{at}.xml")] if notes else []
        files[f"ppt/slides/_rels/slide{at}.xml.rels"] = _rels(*links)
        if notes:
            files[f"ppt/notesSlides/n{at}.xml"] = (
                f"<p:notes {spaces}>{tree.format(run(notes))}</p:notes>".encode()
            )
    return zipped(files)


def xlsx(rows: str, styles: str = "", strings: str = "", merged: str = "") -> bytes:
    """Write a workbook of one sheet, called Looms, from the XML of its rows."""
    files = {
        "[Content_Types].xml": _types("xl/workbook.xml", "spreadsheetml.sheet"),
        "_rels/.rels": _rels(("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": f'<workbook xmlns="{CELLS}" xmlns:r="{OFFICE}"><sheets>'
        '<sheet name="Looms" sheetId="1" r:id="r0"/></sheets></workbook>'.encode(),
        "xl/_rels/workbook.xml.rels": _rels(
            ("worksheet", "worksheets/sheet1.xml"),
            ("styles", "styles.xml"),
            ("sharedStrings", "sharedStrings.xml"),
        ),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{CELLS}"><sheetData>{rows}</sheetData>'
        f"{merged}</worksheet>".encode(),
        "xl/styles.xml": f'<styleSheet xmlns="{CELLS}">{styles}</styleSheet>'.encode(),
        "xl/sharedStrings.xml": f'<sst xmlns="{CELLS}">{strings}</sst>'.encode(),
    }
    return zipped(files)


def odt(body: str, styles: str = "") -> bytes:
    """Write a text of OpenDocument."""
    spaces = " ".join(f'xmlns:{name}="{ODF}:{name}:1.0"' for name in ("office", "text", "style"))
    content = (
        f"<office:document-content {spaces}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text></office:body>"
        "</office:document-content>"
    )
    return zipped(
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "content.xml": content.encode(),
        }
    )


def epub(*chapters: str) -> bytes:
    """Write a book from the bodies of its chapters."""
    names = [f"c{number}.xhtml" for number in range(len(chapters))]
    items = "".join(f'<item id="{name}" href="{name}"/>' for name in names)
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    pages = {
        name: f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{body}</body></html>'.encode()
        for name, body in zip(names, chapters, strict=True)
    }
    return zipped(
        {
            "mimetype": b"application/epub+zip",
            "META-INF/container.xml": b'<container><rootfiles><rootfile full-path="b.opf"/>'
            b"</rootfiles></container>",
            "b.opf": f'<package xmlns:dc="d"><metadata><dc:title>Weaving</dc:title></metadata>'
            f"<manifest>{items}</manifest><spine>{spine}</spine></package>".encode(),
            **pages,
        }
    )
