"""The data of a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:  # a service that stores no documents does not load numpy
    import numpy as np
    from numpy.typing import NDArray

REVISION = 1
"""Raise it when the same page would be drawn or read differently: pages are then made again."""
LONGEST_TEXT = 16_000
"""Characters of one page, those in its figures included."""
LARGEST_PICTURE = 4 * 1024 * 1024
"""Bytes of one picture."""


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A page as it was drawn and, for collections whose pages are searched, read.

    Attributes:
        page: Counted from 1.
        picture: WebP; empty if the page cannot be drawn.
        text: Its text, that in its figures included; empty if nobody asked for it.
        figures: The texts of figures and tables under their captions, in reading order.
        scanned: Whether its text was read off the picture, for it has no text layer.
    """

    page: int
    picture: bytes = b""
    text: str = ""
    figures: tuple[str, ...] = ()
    scanned: bool = False


@dataclass(frozen=True, slots=True)
class ListedPage:
    """A page in the list of a document's pages.

    Attributes:
        page: Counted from 1.
        text: What was read on it, or its passages.
        has_picture: Whether there is a picture of it.
        passages: How many it has.
    """

    page: int
    text: str
    has_picture: bool
    passages: int


@dataclass(frozen=True, slots=True)
class StoredPage:
    """A page with what ranks it.

    Attributes:
        sha256: Of the document's bytes, in hexadecimal.
        page: Counted from 1.
        text: The text of the page, that in its figures included.
        figures: The texts of figures and tables under their captions, in reading order.
        words: The vectors of its words, shape [any, dim].
    """

    sha256: str
    page: int
    text: str
    figures: tuple[str, ...]
    words: "NDArray[np.float16]"


@dataclass(frozen=True, slots=True)
class RankedPage:
    """A page that a search returns, by the content that it is of.

    Attributes:
        stored: The page.
        score: How well it answers, 0 to 1; see `PageMatch.score` of the contract.
    """

    stored: StoredPage
    score: float


@dataclass(frozen=True, slots=True)
class Picture:
    """The picture of a page, and its SHA-256 in hexadecimal."""

    MEDIA_TYPE: ClassVar[str] = "image/webp"
    data: bytes
    sha256: str
