"""What the service asks of the processes that draw and read pages, and their answers."""

import msgspec

from heddle_knowledge.pages.shapes import DrawnPage


class CountRequest(msgspec.Struct, frozen=True, tag="count"):
    """How many pages has a PDF?"""

    data: bytes


class PagesRequest(msgspec.Struct, frozen=True, tag="pages"):
    """Draw pages of a PDF, counted from 1; in the reading process: read them, too."""

    data: bytes
    numbers: list[int]


class WordsRequest(msgspec.Struct, frozen=True, tag="words"):
    """Embed the words of texts."""

    texts: list[str]


class CountReply(msgspec.Struct, frozen=True):
    """How many pages there are; 0 if it is no PDF that can be opened."""

    count: int


class PagesReply(msgspec.Struct, frozen=True):
    """The pages."""

    pages: list[DrawnPage]


class WordsReply(msgspec.Struct, frozen=True):
    """Of each text its vectors as float16, row after row."""

    vectors: list[bytes]


Request = CountRequest | PagesRequest | WordsRequest
