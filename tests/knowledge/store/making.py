"""Small files of binary formats, made by hand."""

import io
from zipfile import ZIP_DEFLATED, ZipFile


def pdf(
    *pages: str,
    extra: bytes = b"",
    trailer: bytes = b"",
    info: bytes = b"",
    bookmarks: tuple[tuple[str, int, int], ...] = (),
) -> bytes:
    """Write a PDF.

    Args:
        pages: The text of each; a line for each line.
        extra: An object more, after those of the pages.
        trailer: Entries more of the trailer.
        info: Entries of the dictionary that describes the document.
        bookmarks: Title, level from 0, and page from 0 of each.
    """
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    first_mark = 4 + 2 * len(pages) + bool(extra) + bool(info)
    objects = [
        b"<</Type/Catalog/Pages 2 0 R%b>>"
        % (b"/Outlines %d 0 R" % first_mark if bookmarks else b""),
        f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>".encode(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number, text in enumerate(pages):
        shown = " 0 -14 Td ".join(f"({line}) Tj" for line in text.split("\n"))
        stream = f"BT /F1 12 Tf 72 720 Td {shown} ET".encode()
        objects.append(
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % (5 + 2 * number)
        )
        objects.append(b"<</Length %d>>stream\n%b\nendstream" % (len(stream), stream))
    if extra:
        objects.append(extra)
    if info:
        objects.append(b"<<%b>>" % info)
        trailer += b"/Info %d 0 R" % len(objects)
    objects += _outline(bookmarks, first_mark) if bookmarks else []
    out, places = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%b\nendobj\n" % (number, body)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + (
        b"xref\n0 %d\n0000000000 65535 f \n%btrailer<</Size %d/Root 1 0 R%b>>\n"
        b"startxref\n%d\n%%%%EOF" % (len(objects) + 1, table, len(objects) + 1, trailer, len(out))
    )


def _outline(marks: tuple[tuple[str, int, int], ...], first: int) -> list[bytes]:
    """Write the tree of bookmarks; its root has the number `first`, each bookmark the next."""
    levels = [-1, *(level for _, level, _ in marks)]
    bodies = [b"/Type/Outlines"]
    for title, level, page in marks:
        at = len(bodies)
        above = max(n for n in range(at) if levels[n] < level)
        later = [n for n in range(at + 1, len(levels)) if levels[n] <= level]
        sibling = b""
        if later and levels[later[0]] == level:
            sibling = b"/Next %d 0 R" % (first + later[0])
        bodies.append(
            f"/Title({title})/Parent {first + above} 0 R/Dest[{4 + 2 * page} 0 R/Fit]".encode()
            + sibling
        )
    for at, level in enumerate(levels):
        under = [n for n in range(at + 1, len(levels)) if levels[n] > level]
        if under and under[0] == at + 1:
            end = next((n for n in range(at + 1, len(levels)) if levels[n] <= level), len(levels))
            last = max(n for n in range(at + 1, end) if levels[n] == levels[at + 1])
            bodies[at] += b"/First %d 0 R/Last %d 0 R" % (first + at + 1, first + last)
    return [b"<<%b>>" % body for body in bodies]


def docx_of(body: str, **parts: str) -> bytes:
    """Write a .docx whose body is this XML, `w:` for Word's namespace.

    Args:
        body: What is in `<w:body>`; with a declaration of its own, the whole `document.xml`.
        parts: The inner XML of other parts: `styles`, `numbering`, `footnotes`.
    """
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    package = "http://schemas.openxmlformats.org/package/2006"
    whole = body.startswith("<?xml")
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
        '<Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{kind}.document.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships">'
        f'<Relationship Id="r1" Type="{office}/officeDocument" Target="word/document.xml"/>'
        "</Relationships>",
        "word/document.xml": body
        if whole
        else f"<w:document {space}><w:body>{body}</w:body></w:document>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">'
        + "".join(
            f'<Relationship Id="{name}" Type="{office}/{name}" Target="{name}.xml"/>'
            for name in parts
        )
        + "</Relationships>",
    } | {f"word/{name}.xml": f"<w:{name} {space}>{xml}</w:{name}>" for name, xml in parts.items()}
    return zipped({name: text.encode() for name, text in files.items()})


def zipped(files: dict[str, bytes]) -> bytes:
    """Write a zip archive."""
    out = io.BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()
