"""Reading documents: what a person would call the text is there, whatever the format."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading import admission
from heddle_knowledge.reading.admission import LARGEST_DOCUMENT, PDF, WORD, media_type_of
from heddle_knowledge.reading.documents import parse
from hypothesis import given
from hypothesis import strategies as st
from knowledge.store.making import docx_of, pdf, zipped
from runtime.examples import examples

PLAIN = st.text(alphabet="ab1 \n#-=*`|~>.:_+", max_size=300)
# Without the marks that vanish from headings inside of words.
MARKDOWN = st.text(alphabet="ab1 \n#-=|~>.:+", max_size=300)


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


def all_text(data: bytes, media_type: str) -> str:
    document = parse(data, media_type=media_type, name="x")
    return "\n".join("\n".join((*block.heading, block.text)) for block in document.blocks)


def test_markdown_keeps_headings_as_the_path_of_each_block() -> None:
    document = parse(
        b"intro\n\n# Guide *one*\n\ntext\n\n## Part `a`\n\nmore\n\n# Next\n\nlast",
        media_type="text/markdown",
        name="guide.md",
    )
    assert document.title == "Guide one"
    assert [(block.heading, block.text) for block in document.blocks] == [
        ((), "intro"),
        (("Guide one",), "text"),
        (("Guide one", "Part a"), "more"),
        (("Next",), "last"),
    ]


def test_markdown_keeps_code_fences_and_tables_whole() -> None:
    fence = "```py\n# not a heading\n\ndef f(): ...\n```"
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    document = parse(f"{fence}\n\n{table}\n".encode(), media_type="", name="x.md")
    assert [block.text for block in document.blocks] == [fence, table]


def test_markdown_keeps_link_definitions_lists_and_raw_html() -> None:
    text = "- one\n\n  two\n- three\n\n[home]: https://example.org/x\n\n<b>bold</b>\n"
    blocks = parse(text.encode(), media_type="", name="x.md").blocks
    assert [block.text for block in blocks] == [
        "- one\n\n  two\n- three",
        "[home]: https://example.org/x",
        "<b>bold</b>",
    ]


def test_a_heading_with_nothing_under_it_is_kept_as_text() -> None:
    blocks = parse(b"# A\n\n## B\n\n# C\n\ntext", media_type="", name="x.md").blocks
    assert [(block.heading, block.text) for block in blocks] == [(("A",), "B"), (("C",), "text")]


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("about:blank", "syllabus.pdf"),
        ("Microsoft Word - Syllabus final.doc", "syllabus.pdf"),
        ("Untitled document", "syllabus.pdf"),
        ("syllabus_v3.docx", "syllabus.pdf"),
        ("Documents of the council", "Documents of the council"),
    ],
)
def test_a_title_that_a_program_gives_does_not_replace_the_name(title: str, expected: str) -> None:
    data = pdf("Office hours are on Thursdays.", info=f"/Title({title})".encode())
    assert parse(data, media_type="", name="course/syllabus.pdf").title == expected


def test_front_matter_gives_the_title() -> None:
    document = parse(b"---\ntitle: 'The title'\n---\n\n# Other\n\nx", media_type="", name="x.md")
    assert document.title == "The title"


@examples(300)
@given(MARKDOWN)
def test_no_word_of_a_markdown_document_is_lost(text: str) -> None:
    if words(text):
        assert set(words(text)) == set(words(all_text(text.encode(), "text/markdown")))


@examples(300)
@given(PLAIN)
def test_no_word_of_a_plain_document_is_lost(text: str) -> None:
    if words(text):
        assert set(words(text)) == set(words(all_text(text.encode(), "text/plain")))


def test_plain_text_takes_underlined_titles_as_headings_by_order_of_style() -> None:
    text = "Top\n===\n\none\ntwo\n\nSub\n---\n\n  three::\n\n    code\n\nTop 2\n=====\n\nfour\n"
    document = parse(text.encode(), media_type="", name="x.rst")
    assert document.title == "Top"
    assert [(block.heading, block.text) for block in document.blocks] == [
        (("Top",), "one\ntwo"),
        (("Top", "Sub"), "  three::"),
        (("Top", "Sub"), "    code"),
        (("Top 2",), "four"),
    ]


def test_plain_text_that_does_not_begin_with_a_title_is_called_by_its_name() -> None:
    assert parse(b"text\n\nLater\n=====\n\nx", media_type="", name="a/b.txt").title == "b.txt"


def test_a_web_page_gives_its_main_text_with_headings_tables_lists_and_code() -> None:
    page = b"""<html><head><title>Site &amp; page</title><style>p{}</style></head><body>
      <nav><a href=/>Home</a></nav><script>var hidden</script>
      <main><h1>Guide</h1><p>First <b>bold</b>\n text.<br>Second line</p>
      <h2>List</h2><ul><li>one</li><li><p>two</p></li></ul>
      <table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>
      <pre>x = 1\n  y</pre></main><footer>imprint</footer></body></html>"""
    document = parse(page, media_type="text/html", name="x")
    assert document.title == "Site & page"
    assert [(block.heading, block.text) for block in document.blocks] == [
        (("Guide",), "First bold text.\nSecond line"),
        (("Guide", "List"), "- one\n- two"),
        (("Guide", "List"), "a | b\n1 | 2"),
        (("Guide", "List"), "x = 1\n  y"),
    ]


def test_a_web_page_without_main_gives_its_body() -> None:
    assert all_text(b"<p>one<div>two<span>three</span></div>four", "text/html") == (
        "one\ntwothree\nfour"
    )


def test_a_web_page_is_decoded_as_it_declares() -> None:
    page = '<meta charset="iso-8859-1"><p>Gr\xfc\xdfe'.encode("latin-1")
    assert all_text(page, "text/html") == "Grüße"


def test_a_deeply_nested_page_is_read_up_to_the_depth_of_browsers() -> None:
    assert all_text(b"<div>" * 250 + b"deep", "text/html") == "deep"
    with pytest.raises(UnreadableDocumentError, match="256"):
        all_text(b"<div>" * 256 + b"deep", "text/html")


def test_a_pdf_gives_its_text_by_page() -> None:
    document = parse(pdf("First page", "", "Third page"), media_type="", name="x.pdf")
    assert [(block.page, block.text) for block in document.blocks] == [
        (1, "First page"),
        (3, "Third page"),
    ]


ENCRYPTED = pdf(
    "secret",
    extra=b"<</Filter/Standard/V 1/R 2/Length 40/P -4/O<%b>/U<%b>>>" % (b"11" * 32, b"22" * 32),
    trailer=b"/Encrypt 6 0 R/ID[<00><00>]",
)


@pytest.mark.parametrize(
    ("name", "data", "remedy"),
    [
        ("locked.pdf", ENCRYPTED, "password"),
        ("broken.pdf", b"%PDF-1.4\nnothing", "save it again"),
        ("cut.pdf", pdf("text")[:120], "save it again"),
        ("scan.pdf", pdf(""), "OCR"),
        ("empty.txt", b"", "no text"),
        ("blank.md", b" \n\t\n", "no text"),
        ("menu.html", b"<nav>Home</nav>", "no text"),
        ("program", b"\x7fELF\0\0", "binary"),
        ("picture.png", b"\x89PNG", "Convert it"),
        ("broken.docx", b"PK\3\4 nothing", "save it again"),
        ("locked.docx", b"\xd0\xcf\x11\xe0" + b"\0" * 600, "remove its password"),
        ("table.docx", zipped({"xl/workbook.xml": b"<x/>"}), "save it again"),
        ("picture.docx", docx_of("<w:p/>"), "no text"),
        ("deep.docx", docx_of("<w:p>" * 2_000 + "</w:p>" * 2_000), "too deep"),
    ],
)
def test_what_cannot_be_read_is_named_with_a_remedy(name: str, data: bytes, remedy: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=remedy) as caught:
        parse(data, media_type="", name=name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "build", "remedy"),
    [  # built by the test: pytest imports this module in each of its processes
        ("bomb.docx", lambda: zipped({"word/document.xml": b" " * 200_000_001}), "unpacks to more"),
        ("xml.docx", lambda: docx_of(" " * 60_000_001), "unpacks to more"),
        ("crowd.docx", lambda: zipped({f"{n}.xml": b"" for n in range(10_001)}), "unpacks to more"),
        ("large.txt", lambda: b"x" * (LARGEST_DOCUMENT + 1), "Split it"),
        ("long.txt", lambda: b"x" * 10_000_001, "Split it"),
    ],
)
def test_what_is_too_large_is_named_with_a_remedy(
    name: str, build: Callable[[], bytes], remedy: str
) -> None:
    with pytest.raises(UnreadableDocumentError, match=remedy) as caught:
        parse(build(), media_type="", name=name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
def test_a_byte_order_mark_tells_the_encoding(encoding: str) -> None:
    assert all_text("Grüße\r\nan alle".encode(encoding), "text/plain") == "Grüße\nan alle"


def test_the_charset_of_the_media_type_is_honoured() -> None:
    assert all_text("Grüße".encode("latin-1"), 'text/plain; charset="latin-1"') == "Grüße"


@examples(200)
@given(
    st.binary(max_size=200),
    st.sampled_from(["text/plain", "text/markdown", "text/html", "text/csv", PDF, WORD]),
    st.sampled_from([b"", b"%PDF-1.4\n", b"PK\3\4", b"<table><tr>", b"\xff\xfe", b"---\n"]),
)
def test_any_bytes_are_read_or_refused(data: bytes, media_type: str, start: bytes) -> None:
    try:
        assert parse(start + data, media_type=media_type, name="x").blocks
    except UnreadableDocumentError as error:
        assert "'x'" in str(error)  # noqa: PT017 (both outcomes are right)


def test_names_suggest_media_types() -> None:
    assert [media_type_of(name) for name in ("a.MD", "b.htm", "c.pdf", "README", "d.exe")] == [
        "text/markdown",
        "text/html",
        "application/pdf",
        "text/plain",
        "application/octet-stream",
    ]


def test_the_chat_offers_the_documents_that_can_be_read() -> None:
    source = (Path(__file__).parents[3] / "studio/src/lib/answers/attachments.ts").read_text()
    endings = set(re.findall(r"(?<=[ \"])\.[a-z0-9]+", source))
    known = {ending for ending in endings if media_type_of(f"a{ending}") != admission.UNKNOWN}
    assert endings == known == set(admission._BY_SUFFIX) - {""}  # noqa: SLF001 - the whole list


@pytest.mark.parametrize(
    ("entities", "use"),
    [
        ('<!ENTITY e SYSTEM "file:///etc/passwd">', "&e;"),
        ('<!ENTITY e0 "boom">', "&e0;"),
        ("".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 12)), "&e11;"),
    ],
)
def test_entities_of_a_word_document_are_not_unfolded(entities: str, use: str) -> None:
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    bomb = docx_of(
        f'<?xml version="1.0"?><!DOCTYPE d [{entities}]><w:document {space}><w:body><w:p><w:r>'
        f"<w:t>before</w:t><w:t>{use}</w:t></w:r></w:p></w:body></w:document>"
    )
    assert [b.text for b in parse(bomb, media_type=WORD, name="x").blocks] == [f"before{use}"]


def test_a_word_document_that_is_no_word_document_of_its_name_is_told() -> None:
    with pytest.raises(UnreadableDocumentError, match="of the type that its name says"):
        parse(docx_of('<?xml version="1.0"?><other/>'), media_type=WORD, name="x")
