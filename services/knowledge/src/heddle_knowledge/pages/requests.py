"""The requests to the processes that draw and read pages."""

import msgspec


class CountRequest(msgspec.Struct, frozen=True, tag="count"):
    """Count the pages of a PDF; the reply is 0 if it cannot be opened."""

    data: bytes


class PagesRequest(msgspec.Struct, frozen=True, tag="pages"):
    """Draw pages of a PDF, counted from 1; the reading process reads them, too."""

    data: bytes
    numbers: list[int]


class WordsRequest(msgspec.Struct, frozen=True, tag="words"):
    """Embed the words of texts; the reply is, for each text, float16 vectors row after row."""

    texts: list[str]
