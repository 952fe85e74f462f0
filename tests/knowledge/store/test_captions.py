"""WebVTT and SubRip as documents."""

import pytest
from heddle_knowledge.chunking.chunks import chunk
from heddle_knowledge.chunking.options import Chunking
from heddle_knowledge.errors import UnreadableDocumentError
from heddle_knowledge.reading.documents import parse, text_of
from knowledge.web.site import CAPTIONS

SUBRIP = "1\n00:00:01,000 --> 00:00:03,000\nOne.\n\n2\n00:00:04,500 --> 00:00:06,000\nTwo.\n"
SCROLLING = """WEBVTT
Kind: captions

00:01.000 --> 00:03.000 align:start position:0%
A shed<00:02.000><c> is</c>

00:03.000 --> 00:05.000
A shed is
a gap.

1:02:03.000 --> 1:02:05.000
Later.
"""


def sections(text: str, media_type: str = "text/vtt", name: str = "a.vtt") -> list[tuple[str, str]]:
    document = parse(text.encode(), media_type=media_type, name=name)
    return [(each.heading[-1], each.text) for each in document.blocks]


def test_captions_are_cut_by_time() -> None:
    assert sections(CAPTIONS) == [
        ("0:00:01", "Welcome to weaving."),
        ("0:01:05", "A shed is a gap & opens."),
    ]
    [whole] = sections(CAPTIONS, "text/vtt;seconds=300")
    assert whole == ("0:00:01", "Welcome to weaving. A shed is a gap & opens.")
    for broken in ("text/vtt;seconds=0", "text/vtt;seconds=many", "text/vtt;seconds=99999999999"):
        assert len(sections(CAPTIONS, broken)) == 2


def test_lines_that_scroll_count_once() -> None:
    assert sections(SCROLLING) == [("0:00:01", "A shed is a gap."), ("1:02:03", "Later.")]


def test_subrip_is_read_by_its_name() -> None:
    assert sections(SUBRIP, "", "talk.srt") == [("0:00:01", "One. Two.")]
    assert text_of(SUBRIP.encode(), media_type="", name="talk.srt") == "0:00:01\n\nOne. Two."


def test_a_section_of_captions_is_one_passage() -> None:
    words = " ".join(f"word{number}" for number in range(400))
    text = f"WEBVTT\n\n00:01.000 --> 00:03.000\n{words}\n\n01:03.000 --> 01:05.000\nEnd.\n"
    document = parse(text.encode(), media_type="text/vtt", name="a.vtt")
    passages = chunk(document, Chunking(target=4_000, parent=4_000))
    assert [each.text for each in passages] == [words, "End."]


def test_captions_without_words_hold_no_text() -> None:
    with pytest.raises(UnreadableDocumentError, match="holds no text"):
        parse(b"WEBVTT\n\n00:01.000 --> 00:03.000\n<c></c>\n", media_type="text/vtt", name="a.vtt")
