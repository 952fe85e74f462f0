"""What documents say stays true: numbers, tables, lists and formulas of every format."""

import json

import pytest
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse
from knowledge.store.making import docx_of, pdf, zipped
from knowledge.store.office_files import epub, odt, pptx, run, xlsx

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"


def word_run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def word(*runs: str) -> bytes:
    return docx_of(f"<w:p>{''.join(runs)}</w:p>")


def raised(text: str) -> str:
    return word_run(text, '<w:vertAlign w:val="superscript"/>')


def symbol(font: str, code: str) -> str:
    return f'<w:r><w:sym w:font="{font}" w:char="{code}"/></w:r>'


def text_of(data: bytes, name: str, media_type: str = "") -> str:
    document = parse(data, media_type=media_type, name=name)
    return "\n".join("\n".join((*block.heading, block.text)) for block in document.blocks)


FRACTION = (
    f'<m:oMath xmlns:m="{MATH}"><m:f><m:num><m:r><m:t>3</m:t></m:r></m:num>'
    "<m:den><m:r><m:t>16</m:t></m:r></m:den></m:f></m:oMath>"
)
POWER = (
    f'<m:oMath xmlns:m="{MATH}"><m:sSup><m:e><m:r><m:t>x</m:t></m:r></m:e>'
    "<m:sup><m:r><m:t>12</m:t></m:r></m:sup></m:sSup></m:oMath>"
)
ROOT = "<math><mroot><mn>27</mn><mn>3</mn></mroot></math>"
MERGED = (
    "<table><tr><th>Day<th>Room<th>Topic<tr><td rowspan=2>Monday<td>A1<td>Warp"
    "<tr><td>A2<td>Weft<tr><td>Friday<td colspan=2>No class<tr><td>Sunday<td>B1<td>Rest</table>"
)
ROWS = (
    '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="inlineStr"><is><t>Date</t></is></c></row>'
    '<row r="2"><c r="A2"><v>1e24</v></c><c r="B2" s="1"><v>45000</v></c></row>'
    '<row r="3"><c r="A3" s="2"><v>0.125</v></c><c r="B3" t="b"><v>1</v></c></row>'
)
STYLES = (
    '<numFmts><numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd"/></numFmts><cellXfs><xf/>'
    '<xf numFmtId="164"/><xf numFmtId="10"/></cellXfs>'
)
AREA = (
    '<si><r><t xml:space="preserve">Area m</t></r><r><rPr><vertAlign val="superscript"/></rPr>'
    "<t>2</t></r></si>"
)
ABOVE = (
    '<style:style style:name="T1" style:family="text"><style:text-properties '
    'style:text-position="super 58%"/></style:style>'
)
SPAN = '<text:p>10<text:span text:style-name="T1">24</text:span> kg</text:p>'
WHOLE = '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'
WIDE = b"<table><tr><td colspan=1000000000>1<td rowspan=1000000000>2</table>"
PARTS = b"Content-Type: multipart/mixed; boundary=x\r\n\r\n" + b"--x\r\n\r\na\r\n" * 1_999
SMALL = ") Tj /F1 7 Tf {} Ts ({}) Tj /F1 12 Tf 0 Ts ("
SCRIPTS = f"2 x 10{SMALL.format(5, 24)} kg, H{SMALL.format(-3, 2)}O, 1024"
CAPTIONS = b"1\n00:00:01,000-->00:00:02,000\n{\\an8}Warp <i>threads</i>\n"


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a.docx", word(word_run("2 × 10"), raised("24"), word_run(" kg")), "2 × 10²⁴ kg"),
        ("a.docx", word(word_run("the 1"), raised("st"), word_run(" loom")), "the 1st loom"),
        ("a.docx", word(word_run("10"), raised("n+k")), "10^(n+k)"),
        ("a.docx", word(word_run("is "), FRACTION, POWER), "is 3/16x¹²"),
        ("a.docx", word(symbol("Symbol", "F061"), symbol("Wingdings", "F0FC")), "α✓"),
        ("a.html", b"3 &times; 10<sup>8</sup> m/s, H<sub>2</sub>O, 2<sup>10</sup> = 1024",
         "3 × 10⁸ m/s, H₂O, 2¹⁰ = 1024"),
        ("a.html", b"a<del>100</del><ins>80</ins> euros", "a ~~100~~ 80 euros"),
        ("a.html", f"<p>root {ROOT} and <math><mi>a</mi></math>".encode(),
         "root $\\sqrt[3]{27}$ and a"),
        ("a.html", MERGED.encode(),
         "Day | Room | Topic\nMonday | A1 | Warp\nMonday | A2 | Weft\nFriday | No class\n"
         "Sunday | B1 | Rest"),
        ("a.html", b"<ol start=5><li>five<li>six</ol>", "5. five\n6. six"),
        ("a.html", b"<ol type=a><li>x<li>y</ol><ol reversed><li>p<li>q</ol>",
         "a. x\nb. y\n2. p\n1. q"),
        ("a.html", b"<form><h1>Hours</h1><p>At nine.</form>", "Hours\nAt nine."),
        ("a.html", b"<h2><button>Why?</button></h2><p>So.<button>Send</button>", "Why?\nSo."),
        ("a.html", b"<p>The exam is on 3 June in room 12.<article>Comment!</article>",
         "The exam is on 3 June in room 12.\nComment!"),
        ("a.html", b"<p>See<img src=a.png alt='warp threads'>", "See warp threads"),
        ("a.html", b"<div>10</div><div>20</div>", "10\n20"),
        ("a.html", "<p>Donau\u00addampf\u200bschiff".encode(), "Donaudampfschiff"),
        ("a.html", b"<meta charset=iso-8859-1><p>\x805", "€5"),
        ("a.html", b"<p>caf\xe9 \x96 \x805", "café – €5"),
        ("a.xhtml", '<?xml version="1.0" encoding="windows-1251"?><p>Привет'.encode("cp1251"),
         "Привет"),
        ("a.txt", "Grüße an alle".encode("utf-16-le"), "Grüße an alle"),
        ("a.csv", b"sep=;\nCity;Price\nK\xf6ln;5,50", "City | Price\nKöln | 5,50"),
        ("a.srt", CAPTIONS, "0:00:01\nWarp threads"),
        ("a.pdf", pdf(SCRIPTS), "2 x 10²⁴ kg, H₂O, 1024"),
        ("a.pdf", pdf("the subject ) Tj /F1 9 Tf (50012) Tj /F1 12 Tf ( of 100"),
         "the subject 50012 of 100"),
        ("a.pdf", pdf("Third) Tj 0 40 Td (First) Tj 0 -20 Td (Second"), "First\nSecond\nThird"),
        ("a.pdf", pdf("left) Tj 200 0 Td (right) Tj -200 -20 Td (below"), "left right\nbelow"),
        ("a.rtf", b"{\\rtf1\\ansi 10{\\super 24} kg\\par}", "10^24 kg"),
        ("a.odt", odt(SPAN, ABOVE), "10²⁴ kg"),
        ("a.epub", epub("<h1>One</h1><p>10<sup>24</sup> kg</p>", "<p>two</p>"),
         "Weaving\nOne\n10²⁴ kg"),
        ("a.pptx", pptx((run("2") + run("10", 'baseline="30000"'), "Say it slowly.")),
         "2¹⁰\nNotes: Say it slowly."),
        ("a.xlsx", xlsx(ROWS, STYLES, AREA),
         "Area m² | Date\n1000000000000000000000000 | 2023-03-15\n12.50% | TRUE"),
        ("a.py", b"import os\n\n\ndef weave():\n    a = 1\n\n    return a\n",
         "import os\ndef weave():\n    a = 1\n\n    return a"),
    ],
)  # fmt: skip
def test_documents_say_what_their_authors_wrote(name: str, data: bytes, expected: str) -> None:
    assert expected in text_of(data, name)


@pytest.mark.parametrize(
    ("media_type", "name", "data", "expected"),
    [
        ("application/vnd.ms-excel", "a.csv", b"a,b\n1,2", "a | b\n1 | 2"),
        ("text/csv; charset=windows-1252", "a.csv", b"K\xf6ln,5 \x80", "Köln | 5 €"),
        ("application/zip", "a.docx", word(word_run("warp")), "warp"),
        ("application/msword", "a.docx", word(word_run("warp")), "warp"),
        ("", "attachment", word(word_run("warp")), "warp"),
        ("text/plain", "a.md", b"# Warp\n\nthreads", "Warp\nthreads"),
        ("text/plain", "a.srt", CAPTIONS, "Warp threads"),
        ("text/html", "a.txt", b"<p>warp", "warp"),
        ("text/plain", "a.unknown", b"warp", "warp"),
    ],
)
def test_the_type_follows_from_bytes_and_name(
    media_type: str, name: str, data: bytes, expected: str
) -> None:
    assert expected in text_of(data, name, media_type)


def test_slides_are_pages() -> None:
    document = parse(pptx((run("warp"), ""), (run("weft"), "notes")), media_type="", name="a.pptx")
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "warp"),
        (2, "weft"),
        (2, "Notes: notes"),
    ]
    assert document.pages == 2


def test_the_encoding_is_told_unless_it_is_utf_8() -> None:
    page = parse(b"caf\xe9", media_type="", name="a.txt")
    assert page.metadata == {"encoding": "windows-1252"}
    assert not parse(b"cafe", media_type="", name="a.txt").metadata


MAIL = (
    b"From: Ada <ada@example.org>\r\nSubject: Rooms\r\nDate: Mon, 2 Mar 2026 10:00:00 +0000\r\n"
    b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\nContent-Type: text/html\r\n\r\n'
    b"<p>The table is attached.\r\n--x\r\nContent-Type: text/csv\r\n"
    b'Content-Disposition: attachment; filename="rooms.csv"\r\n\r\nday,room\r\nMonday,A1\r\n'
    b"--x\r\nContent-Type: image/png\r\n"
    b'Content-Disposition: attachment; filename="plan.png"\r\n\r\npixels\r\n--x--\r\n'
)


def test_a_message_has_its_headers_its_text_and_its_attachments() -> None:
    document = parse(MAIL, media_type="", name="a.eml")
    assert document.title == "Rooms"
    headers, text, table, refused = document.blocks
    assert headers.text.startswith("From: Ada <ada@example.org>\nDate: ")
    assert text.text == "The table is attached."
    assert (table.heading, table.text) == (("rooms.csv",), "day | room\nMonday | A1")
    assert "not read" in refused.text
    assert "plan.png" in refused.text


def test_a_notebook_has_its_text_its_code_and_what_it_printed() -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Looms\n", "\n", "See below."]},
        {"cell_type": "code", "source": "1 + 1", "outputs": [{"data": {"text/plain": ["2"]}}]},
    ]
    notebook = json.dumps({"cells": cells}).encode()
    assert text_of(notebook, "a.ipynb") == (
        "Looms\nSee below.\nLooms\n```\n1 + 1\n```\nLooms\n```\n2\n```"
    )


BOMB = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12))
DEEP = "<m:oMath>" * 5_000


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cells.xlsx", xlsx('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>' * 2)),
        ("merged.xlsx", xlsx(ROWS, merged=WHOLE)),
        ("entities.epub", zipped({"mimetype": b"application/epub+zip", "META-INF/container.xml":
         f'<!DOCTYPE c [<!ENTITY e0 "x">{BOMB}]><container>&e11;</container>'.encode()})),
        ("slides.pptx", zipped({"ppt/presentation.xml": b"<x/>"})),
        ("formula.docx", docx_of(f'<w:p xmlns:m="{MATH}">{DEEP}')),
        ("formula.html", b"<math>" + b"<msqrt>" * 5_000 + b"2"),
        ("lists.odt", odt("<text:list><text:list-item>" * 500)),
        ("columns.html", WIDE * 20),
        ("broken.ipynb", b'{"cells": 3}'),
        ("deep.ipynb", b"[" * 100_000),
        ("parts.eml", PARTS),
        ("groups.rtf", b"{\\rtf1" + b"{" * 100_000),
    ],
)  # fmt: skip
def test_hostile_documents_are_read_or_refused_within_bounds(name: str, data: bytes) -> None:
    try:
        document = parse(data, media_type="", name=name)
    except UnreadableDocumentError as refusal:
        assert name in str(refusal) or "elements in each other" in str(refusal)  # noqa: PT017
    except RecursionError:
        return  # which the process that reads refuses as too complex
    else:
        assert sum(len(block.text) for block in document.blocks) < 1_000_000
