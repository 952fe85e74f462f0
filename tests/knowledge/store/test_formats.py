"""What single formats tell beyond words: headings, tables, lists, titles and dates."""

from datetime import UTC, datetime
from io import BytesIO

import docx
import pytest
from heddle_knowledge.formats.blocks import ParsedDocument
from heddle_knowledge.formats.dates import read_date
from heddle_knowledge.reading.documents import parse
from knowledge.store.making import docx_of, pdf

MATH = "http://schemas.openxmlformats.org/officeDocument/2006/math"
LISTS = (
    '<w:abstractNum w:abstractNumId="7"><w:lvl w:ilvl="0"><w:numFmt w:val="decimal"/></w:lvl>'
    '<w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>'
    '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>'
)


def read(data: bytes, name: str) -> ParsedDocument:
    return parse(data, media_type="", name=name)


def told(document: ParsedDocument) -> list[tuple[tuple[str, ...], str]]:
    return [(block.heading, block.text) for block in document.blocks]


def saved(document: "docx.document.Document") -> bytes:
    out = BytesIO()
    document.save(out)
    return out.getvalue()


def paragraph(text: str, properties: str = "") -> str:
    return (
        f'<w:p><w:pPr>{properties}</w:pPr><w:r><w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def entry(text: str, depth: int) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{depth}"/><w:numId w:val="1"/></w:numPr>')


def test_word_gives_headings_paragraphs_lists_and_tables_but_no_page_header() -> None:
    made = docx.Document()
    made.sections[0].header.paragraphs[0].text = "on every page"
    made.add_heading("Looms", 1)
    made.add_paragraph("A loom holds threads.")
    made.add_heading("Parts", 2)
    made.add_paragraph("heddle", style="List Bullet")
    made.add_paragraph("reed", style="List Bullet")
    table = made.add_table(2, 2)
    for row, texts in zip(table.rows, (("part", "number"), ("reed", "1")), strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    made.add_heading("Care", 1)
    made.add_paragraph("Keep it dry.")

    document = read(saved(made), "loom.docx")

    assert told(document) == [
        (("Looms",), "A loom holds threads."),
        (("Looms", "Parts"), "- heddle\n- reed"),
        (("Looms", "Parts"), "part | number\nreed | 1"),
        (("Care",), "Keep it dry."),
    ]
    assert [block.header for block in document.blocks] == [None, None, "part | number", None]
    assert document.title == "Looms"


def test_word_tells_its_title_and_when_it_was_changed() -> None:
    made = docx.Document()
    made.add_paragraph("text")
    made.core_properties.title = "The  manual"
    made.core_properties.modified = datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC)
    document = read(saved(made), "a.docx")
    assert (document.title, document.time) == (
        "The manual",
        datetime(2021, 5, 6, 7, 8, 9, tzinfo=UTC),
    )
    assert read(docx_of(paragraph("text")), "a.docx").time is None


def test_word_changes_are_taken_as_accepted() -> None:
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r>"
        "<w:ins><w:r><w:t>added</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>gone</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom></w:p>"
        + paragraph("first half, ", "<w:rPr><w:del/></w:rPr>")
        + paragraph("second half")
        + "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc></w:tr>"
        "<w:tr><w:tc><w:p><w:r><w:t>c</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    assert [text for _, text in told(read(docx_of(body), "a.docx"))] == [
        "kept added",
        "first half, second half",
        "a\nc",
    ]


def test_word_lists_are_numbered_and_indented_as_they_show() -> None:
    body = entry("one", 0) + entry("inner", 1) + entry("two", 0) + paragraph("after")
    assert [text for _, text in told(read(docx_of(body, numbering=LISTS), "a.docx"))] == [
        "1. one\n  - inner\n2. two",
        "after",
    ]


def test_word_headings_are_known_by_outline_level_whatever_their_style_is_called() -> None:
    styles = (
        '<w:style w:styleId="berschrift1"><w:name w:val="Kapitel"/>'
        '<w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>'
        '<w:style w:styleId="own"><w:name w:val="Own"/><w:basedOn w:val="berschrift1"/></w:style>'
    )
    body = paragraph("Kapitel 1", '<w:pStyle w:val="own"/>') + paragraph("text")
    assert told(read(docx_of(body, styles=styles), "a.docx")) == [(("Kapitel 1",), "text")]


def test_word_notes_stand_below_what_refers_to_them() -> None:
    body = (
        '<w:p><w:r><w:t>See below.</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>'
        + paragraph("next")
    )
    note = paragraph("Or above.")
    notes = f'<w:footnote w:type="separator" w:id="0"/><w:footnote w:id="2">{note}</w:footnote>'
    assert [text for _, text in told(read(docx_of(body, footnotes=notes), "a.docx"))] == [
        "See below.[1]",
        "[1] Or above.",
        "next",
    ]


def test_hidden_text_of_word_is_left_out_and_text_boxes_are_not() -> None:
    body = (
        "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:t>shown</w:t></w:r>"
        f"<w:r><w:pict><w:txbxContent>{paragraph('boxed')}</w:txbxContent></w:pict></w:r></w:p>"
        f"<w:tbl><w:tr><w:tc>{paragraph('framed')}</w:tc></w:tr></w:tbl>"
    )
    assert [text for _, text in told(read(docx_of(body), "a.docx"))] == ["shown", "boxed", "framed"]


@pytest.mark.parametrize(
    ("inner", "text"),
    [
        (f'<m:oMath xmlns:m="{MATH}"><m:r><m:t>a=b</m:t></m:r></m:oMath>', "It is a=b"),
        (
            '<w:fldSimple w:instr="REF x"><w:r><w:t>Table 3</w:t></w:r></w:fldSimple>',
            "It is Table 3",
        ),
        ("<w:smartTag><w:r><w:t>Berne</w:t></w:r></w:smartTag>", "It is Berne"),
        (
            "<w:sdt><w:sdtContent><w:r><w:t>filled in</w:t></w:r></w:sdtContent></w:sdt>",
            "It is filled in",
        ),
    ],
)
def test_formulas_fields_and_form_controls_of_word_are_text(inner: str, text: str) -> None:
    body = f'<w:p><w:r><w:t xml:space="preserve">It is </w:t></w:r>{inner}</w:p>'
    assert [block.text for block in read(docx_of(body), "a.docx").blocks] == [text]


def test_a_table_within_a_cell_of_word_stays_in_its_row() -> None:
    inner = f"<w:tbl><w:tr><w:tc>{paragraph('inner')}</w:tc></w:tr></w:tbl>"
    body = f"<w:tbl><w:tr><w:tc>{paragraph('left')}</w:tc><w:tc>{inner}</w:tc></w:tr></w:tbl>"
    assert [block.text for block in read(docx_of(body), "a.docx").blocks] == ["left | inner"]


def test_a_pdf_has_its_bookmarks_as_headings_from_the_line_of_the_title_on() -> None:
    document = read(
        pdf(
            "Preface\nof the book",
            "1 Looms\nA loom.\n1.1 Heddles and the\nshafts that hold them\nA heddle.",
            "goes on\n2 Care\nDry.",
            bookmarks=(
                ("Looms", 0, 1),
                ("Heddles and the shafts that hold them", 1, 1),
                ("Care", 0, 2),
            ),
        ),
        "x.pdf",
    )
    inner = ("Looms", "Heddles and the shafts that hold them")
    assert [(block.page, block.heading, block.text) for block in document.blocks] == [
        (1, (), "Preface\nof the book"),
        (2, ("Looms",), "1 Looms\nA loom."),
        (2, inner, "1.1 Heddles and the\nshafts that hold them\nA heddle."),
        (3, inner, "goes on"),
        (3, ("Care",), "2 Care\nDry."),
    ]
    assert document.pages == 3


def test_a_bookmark_whose_title_does_not_show_begins_with_its_page_and_adds_no_text() -> None:
    document = read(
        pdf("one", "two", bookmarks=(("Cover", 0, 0), ("Blank", 0, 1), ("Back", 0, 0))), "x.pdf"
    )
    assert told(document) == [(("Cover",), "one"), (("Blank",), "two")]


def test_a_pdf_tells_its_title_and_when_it_was_changed() -> None:
    info = b"/Title(The  manual)/CreationDate(D:20190102030405Z)/ModDate(D:20200102030405+02'00')"
    document = read(pdf("text", info=info), "x.pdf")
    assert document.title == "The manual"
    assert document.time == datetime(2020, 1, 2, 1, 4, 5, tzinfo=UTC)


def test_a_word_that_a_pdf_breaks_at_the_end_of_a_line_is_whole() -> None:
    text = read(pdf("A heddle holds one sin-\ngle thread, self-evidently."), "x.pdf").blocks[0].text
    assert "single thread" in text
    assert "self-evidently" in text


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", 'name,note\nreed,"two\nlines"\n\nheddle,a loop\n'),
        ("b.csv", "name;note\nreed;two lines\nheddle;a loop"),
        ("c.tsv", "name\tnote\nreed\ttwo lines\nheddle\ta loop"),
    ],
)
def test_rows_of_values_are_a_table_under_their_first_row(name: str, data: str) -> None:
    (block,) = read(data.encode(), name).blocks
    assert block.text == "name | note\nreed | two lines\nheddle | a loop"
    assert block.header == "name | note"


def test_a_missing_quotation_mark_loses_no_text() -> None:
    (block,) = read(b'a,b\n1,"open\n2,x\n' + b"y" * 200_000, "x.csv").blocks
    assert "open 2,x yyy" in block.text


def test_markdown_tables_are_told_with_their_header() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    (_, block) = read(f"text\n\n{table}\n".encode(), "x.md").blocks
    assert (block.text, block.header) == (table, "| a | b |\n|---|---|")


def test_front_matter_gives_the_date_of_the_last_change() -> None:
    document = read(
        b"---\nTitle: T\ndate: 2020-01-02\nlastmod: 2021-03-04T05:06:07Z\n---\nx", "x.md"
    )
    assert (document.title, document.time) == ("T", datetime(2021, 3, 4, 5, 6, 7, tzinfo=UTC))
    assert read(b"---\n- no: [mapping\n---\nx", "x.md").time is None


def test_a_web_page_gives_its_date_by_its_description_or_its_first_time() -> None:
    described = (
        b'<meta property="article:published_time" content="2020-01-02">'
        b'<meta name="Last-Modified" content="Wed, 03 Feb 2021 04:05:06 GMT"><p>x'
    )
    assert read(described, "x.html").time == datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC)
    shown = b'<p><time datetime="2022-03">March</time> x'
    assert read(shown, "x.html").time == datetime(2022, 3, 1, tzinfo=UTC)


def test_lists_of_a_web_page_stay_together_and_show_how_they_nest() -> None:
    page = (
        b"<p>Do:</p><ol><li>first<ul><li>a<li><p>b</p><p>more</p></ul></li>"
        b"<li>second<br>line</li></ol><p>Done."
    )
    assert [text for _, text in told(read(page, "x.html"))] == [
        "Do:",
        "1. first\n  - a\n  - b\n    more\n2. second\n  line",
        "Done.",
    ]


def test_tables_of_a_web_page_have_the_rows_that_name_columns_as_header() -> None:
    page = (
        b"<table><caption>Parts</caption><tr><th>name<th>note</tr>"
        b"<tr><td>reed<td>two<br>lines</tr></table>"
        b"<table><tr><td>1<td>2</tr><tr><td>3<td>4</tr></table>"
    )
    assert [(block.text, block.header) for block in read(page, "x.html").blocks] == [
        ("Parts\nname | note\nreed | two lines", "Parts\nname | note"),
        ("1 | 2\n3 | 4", ""),
    ]


def test_a_table_that_only_lays_out_a_page_is_none() -> None:
    page = (
        b"<table><tr><td><h1>Looms</h1><p>one</p><p>two</p>"
        b"<table><tr><td>a<td>b</tr><tr><td>c<td>d</tr></table></td></tr></table>"
    )
    assert told(read(page, "x.html")) == [
        (("Looms",), "one"),
        (("Looms",), "two"),
        (("Looms",), "a | b\nc | d"),
    ]


def test_the_only_article_of_a_page_is_its_text() -> None:
    page = b"<div>menu</div><article><p>text</article><footer>imprint</footer>"
    assert told(read(page, "x.html")) == [((), "text")]


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2020-02-03", datetime(2020, 2, 3, tzinfo=UTC)),
        ("2020-02-03T04:05:06+02:00", datetime(2020, 2, 3, 2, 5, 6, tzinfo=UTC)),
        ("2020", datetime(2020, 1, 1, tzinfo=UTC)),
        ("D:20200203", datetime(2020, 2, 3, tzinfo=UTC)),
        ("D:20200203040506-03'30'", datetime(2020, 2, 3, 7, 35, 6, tzinfo=UTC)),
        ("Mon, 03 Feb 2020 04:05:06 +0000", datetime(2020, 2, 3, 4, 5, 6, tzinfo=UTC)),
        ("0001-01-01T00:00:00+10:00", None),
        ("D:20201399", None),
        ("yesterday", None),
        ("", None),
    ],
)
def test_dates_are_read_as_documents_write_them(text: str, time: datetime | None) -> None:
    assert read_date(text) == time
