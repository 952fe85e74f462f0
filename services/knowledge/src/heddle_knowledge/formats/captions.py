"""WebVTT and SubRip: the words of a video, cut into sections of time."""

import html
import re
from collections.abc import Iterator

from heddle_knowledge.formats.blocks import Outline, ParsedDocument

SECONDS = 60
"""The length of a section in seconds, by default."""
_TIMES = re.compile(
    r"\s*(?:(\d{1,3}):)?([0-5]?\d):([0-5]?\d)[.,]\d{1,3}[ \t]*-->[ \t]*[\d:.,]+(?:[ \t].*)?"
)
_TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")


def read_captions(text: str, seconds: int = SECONDS) -> ParsedDocument:
    """Read captions. A section has the time of its beginning as its title, for example `0:01:00`.

    A line that repeats the one before, as in recognised captions that scroll, counts once.
    """
    outline = Outline()
    beginning = -seconds
    words: list[str] = []
    last = ""
    for time, line in _lines(text):
        if line == last:
            continue
        last = line
        if time - beginning >= seconds:
            outline.add(" ".join(words))
            words = []
            beginning = time
            outline.enter(1, f"{time // 3600}:{time // 60 % 60:02}:{time % 60:02}")
        words.append(line)
    outline.add(" ".join(words))
    return ParsedDocument("", outline.finish())


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield each line of a caption with the second at which the caption begins."""
    time: int | None = None
    for line in text.split("\n"):
        if times := _TIMES.fullmatch(line):
            hours, minutes, whole = (int(each or 0) for each in times.groups())
            time = 3600 * hours + 60 * minutes + whole
        elif not line.strip():
            time = None
        elif time is not None:
            spoken = " ".join(html.unescape(_TAG.sub("", line)).split())
            if spoken:
                yield time, spoken
