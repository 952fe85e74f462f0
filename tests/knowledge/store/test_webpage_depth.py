"""Web pages whose elements nest deep."""

import time

import pytest
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse


@pytest.mark.parametrize(
    "unit",
    [
        "<table><tr><td>",
        "<ul><li>x",
        "<div>",
        "<div></b>",
        "<b><div></b>",
        "<div><table></div>",
        "<!--><div>",
        "<DIV CLASS=x>",
    ],
)
def test_a_page_that_nests_deep_is_refused_at_once(unit: str) -> None:
    page = unit * (300_000 // len(unit))
    started = time.monotonic()

    with pytest.raises(UnreadableDocumentError, match="elements in each other"):
        parse(page.encode(), media_type="text/html", name="a.html")

    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    "page",
    [
        "<p>text" * 5_000,
        "<ul>" + "<li>text" * 5_000 + "</ul>",
        "<table>" + "<tr><td><b>text</b>" * 5_000 + "</table>",
        "<div><p>text</div>" * 5_000,
        "<div><!-- <div> -->text</div>" * 5_000,
        "<script>" + "write('<div>');" * 5_000 + "</script><p>text",
        "<i>" + "<br>text" * 5_000,
    ],
)
def test_a_long_page_is_not_deep(page: str) -> None:
    assert parse(page.encode(), media_type="text/html", name="a.html").blocks


def test_lists_in_each_other_do_not_multiply_their_text() -> None:
    page = "<ul><li>" * 100 + "<li>text" * 20_000

    document = parse(page.encode(), media_type="text/html", name="a.html")

    assert sum(len(block.text) for block in document.blocks) < 20_000 * 60
