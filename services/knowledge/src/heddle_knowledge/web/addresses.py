"""Which addresses of documents users may name."""

import re
from urllib.parse import urlsplit

import httpx

MAX_URI_CHARACTERS = 2_048
_BLANK = re.compile(r"\s")
_VIDEO = re.compile(
    r"https?://(?:(?:www\.|m\.)?youtube(?:-nocookie)?\.com/(?:watch\?(?:\S*&)?v=|embed/|shorts/|live/)"
    r"|youtu\.be/)([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])"
)


def address_problem(url: str) -> str:
    """Return which rule the address of a document breaks, an empty text if none."""
    if len(url) > MAX_URI_CHARACTERS:
        return f"must have at most {MAX_URI_CHARACTERS:,} characters"
    try:
        parts = urlsplit(url)
        _ = parts.port, httpx.URL(url).host  # both are parsed when they are read
    except (ValueError, httpx.InvalidURL):
        return "must be an http or https address"
    # `urlsplit` drops line breaks and tabs.
    readable = url.isprintable() and not _BLANK.search(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or not readable:
        return "must be an http or https address"
    if "@" in parts.netloc:
        return "must hold no password"
    return ""


def video_of(url: str) -> str:
    """Return the identifier of the YouTube video at an address, an empty text if there is none."""
    video = _VIDEO.match(url)
    return video[1] if video else ""
