"""One table: what each kind of markup says, in the formats where it was once lost or falsified."""

from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from knowledge.store.making import docx_of, pdf, zipped
from knowledge.store.office_files import epub, xlsx
from knowledge.store.test_fidelity import text_of, word, word_run

PRINTED = Path(__file__).parent / "printed"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT = (
    (OFFICE, "http://purl.oclc.org/ooxml/officeDocument/relationships"),
    (WORD, "http://purl.oclc.org/ooxml/wordprocessingml/main"),
)
PICTURE = (
    "<w:r><w:drawing><wp:inline xmlns:wp="
    '"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">'
    '<wp:docPr id="1" name="P" descr="{}"/><a:graphic xmlns:a='
    '"http://schemas.openxmlformats.org/drawingml/2006/main"><a:blip/></a:graphic>'
    "</wp:inline></w:drawing></w:r>"
)
FIELD = (
    '<w:r><w:fldChar w:fldCharType="begin"><w:ffData>{}</w:ffData></w:fldChar></w:r>'
    "<w:r><w:instrText>FORM</w:instrText></w:r>"
    '<w:r><w:fldChar w:fldCharType="end"/></w:r>'
)
TICKED = FIELD.format("<w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox>")
CHOSEN = FIELD.format(
    "<w:ddList><w:result w:val='1'/><w:listEntry w:val='A'/><w:listEntry w:val='Room B'/>"
    "</w:ddList>"
)
STRUCK = (
    '<row r="1"><c r="A1" t="inlineStr"><is><r><rPr><strike/></rPr><t>100</t></r><r><t>80</t></r>'
    "</is></c></row>"
)
HEADS = (
    b"<table><tr><th rowspan=2>Day<th colspan=2>Rooms<tr><th>A<th>B<tr><td>Mon<td>1<td>2</table>"
)
CONTROLS = (
    b"<form>Name <input value=Ada><input type=checkbox checked> agreed <input type=radio> never"
    b"<select><option>A<option selected>Room B</select><textarea>teaching</textarea>"
    b"<input type=hidden value=token><input type=submit value=Send></form>"
)
DRAWINGS = (
    b"<svg role=img><title>Loom plan</title><text>x</text></svg>"
    b"<svg><title>icon</title></svg><p>or<input type=image alt='yarn map'>"
)
TURNED = b"1\n00:00:01,000 --> 00:00:02,000\n{\\an8}{\\i1}a{\\i0} x->y &amp; 5 < 6\n"


def changed(data: bytes, *pairs: tuple[str, str]) -> bytes:
    """Replace texts in every part of an archive."""
    parts: dict[str, bytes] = {}
    with ZipFile(BytesIO(data)) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name)
            for old, new in pairs:
                parts[name] = parts[name].replace(old.encode(), new.encode())
    return zipped(parts)


def linked(target: str) -> bytes:
    link = f'<Relationship Id="x" Type="{OFFICE}/image" Target="{target}"/></Relationships>'
    return changed(word(word_run("warp")), ("</Relationships>", link))


def shifted(text: str, points: int) -> str:
    return word_run(text, f'<w:position w:val="{points}"/>')


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        # Exponents and indices by style, not by element.
        ("a.html", b"10<span style='vertical-align: super'>24</span> kg", "10²⁴ kg"),
        ("a.html", b"H<small style='vertical-align:sub;color:red'>2</small>O", "H₂O"),
        ("a.html", b"x<sup>&minus;3</sup> 10<sup><b>24</b></sup> e<sup>x</sup>", "x⁻³ 10²⁴ e^x"),
        ("a.epub", epub("<p>10<span style='vertical-align:super'>24</span> kg</p>"), "10²⁴ kg"),
        ("a.docx", word(word_run("10"), shifted("24", 6), word_run(" kg")), "10²⁴ kg"),
        ("a.docx", word(word_run("H"), shifted("2", -4), word_run("O")), "H₂O"),
        ("a.docx", word(word_run("a "), shifted("word", 2)), "a word"),
        ("a.rtf", b"{\\rtf1\\ansi 10{\\up6 24} kg, H{\\dn4 2}O\\par}", "10^24 kg, H_2O"),
        # Fractions and units.
        ("a.html", b"<math><mfrac><mn>3</mn><mn>16</mn></mfrac></math> in", "3/16 in"),
        ("a.html", "1½ cups, 3&frasl;16".encode(), "1½ cups, 3\u204416"),
        ("a.docx", word("<w:r><w:t>555</w:t><w:noBreakHyphen/><w:t>1234</w:t></w:r>"), "555-1234"),
        # Insertions and deletions.
        ("a.html", b"<span style='text-decoration:line-through'>100</span>80", "~~100~~ 80"),
        ("a.xlsx", xlsx(STRUCK), "~~100~~ 80"),
        ("a.rtf", b"{\\rtf1\\ansi {\\deleted 100}{\\revised 80} euros\\par}", "~~100~~ 80 euros"),
        # Merged cells.
        ("a.html", HEADS, "Day | Rooms\nDay | A | B\nMon | 1 | 2"),
        ("a.html", b"<table><tr><td rowspan=0>A<td>1<tr><td>2</table>", "A | 1\nA | 2"),
        # Numbered lists.
        ("a.html", b"<ol start=-1><li>m<li>z</ol><ol><li value=7>s<li>e</ol>",
         "-1. m\n0. z\n7. s\n8. e"),
        ("a.html", b"<ol type=I start=4><li>x</ol><ol type=A><li>y</ol>", "IV. x\nA. y"),
        # Values of forms.
        ("a.html", CONTROLS, "Name Ada [x] agreed\nnever Room B\nteaching"),
        ("a.docx", word(TICKED, word_run(" agreed: "), CHOSEN), "[x] agreed: Room B"),
        ("form.pdf", PRINTED,
         "Name: Ada Weaver\nReason: teaching tapestry\nAgreed [x]\nChoice: Room B"),
        # A script that the file writes on a line of its own; formulas are no tables.
        ("a.pdf", pdf("S) Tj /F1 7 Tf 9 5 Td (2) Tj /F1 12 Tf 6 -5 Td (is round"), "S² is round"),
        ("a.pdf", pdf("\n".join(f"x) Tj 60 0 Td (= {n}) Tj 60 0 Td (if z) Tj -120 0 Td ("
                                for n in range(4))), "x = 0 if z x = 1"),
        ("note.pdf", PRINTED, "Added by hand: room changed to B7"),
        ("order.pdf", PRINTED, "First line of text.\nSecond line of text.\nThird line of text."),
        ("lam_alef.pdf", PRINTED, "الإنتاجية"),
        # Alternative texts and anchors.
        ("a.html", DRAWINGS, "Loom plan\nor yarn map"),
        ("a.docx", word(word_run("See "), PICTURE.format("warp threads")), "See warp threads"),
        ("a.html", b"<h2>Looms <a href=#looms>#</a></h2><p>They weave.", "Looms\nThey weave."),
        # Encodings: what a page says of itself counts unless its bytes contradict it.
        ("a.html", b"<meta charset=utf-8><p>caf\xe9", "café"),
        ("a.html", "<meta charset=utf-16><p>Grüße".encode(), "Grüße"),
        ("a.html", "<meta charset=x-none><p>Grüße".encode(), "Grüße"),
        ("a.html", "<meta charset=shift_jis><p>織機".encode("cp932"), "織機"),
        ("a.html", "<p>Привет, мир".encode("utf-16-be"), "Привет, мир"),
        ("a.txt", "Grüße an Köln, Malmö und Århus".encode() + b" \xc3", "Grüße an Köln"),
        # Rows.
        ("a.csv", b"Fees: one, two\nCity;Price\nOslo;5,50\nRome;7,20", "Oslo | 5,50"),
        ("a.csv", b'a,b\n"x, y","1\n2"\n"""c""",3', 'x, y | 1 2\n"c" | 3'),
        # Captions.
        ("a.srt", TURNED, "a x->y & 5 < 6"),
        # Files of other programs that Word opens.
        ("a.docx", changed(word(word_run("warp")), *STRICT), "warp"),
        ("a.docx", linked("../NULL"), "warp"),
        ("a.docx", linked("#_top"), "warp"),
        ("a.docx", docx_of(f"<w:p>{word_run('Draft ')}<w:del w:id='1'><w:r><w:delText>100"
                           f"</w:delText></w:r></w:del>{word_run('80')}</w:p>"), "Draft 80"),
    ],
)  # fmt: skip
def test_each_kind_of_markup_says_what_its_author_saw(
    name: str, data: bytes | Path, expected: str
) -> None:
    content = (data / name).read_bytes() if isinstance(data, Path) else data

    assert expected in text_of(content, name)


@pytest.mark.parametrize("stated", ["text/x-csv", "text/comma-separated-values", "application/csv"])
def test_rows_are_recognised_under_each_name_of_their_type(stated: str) -> None:
    assert text_of(b"a,b\n1,2", "a.csv", stated) == "a | b\n1 | 2"
