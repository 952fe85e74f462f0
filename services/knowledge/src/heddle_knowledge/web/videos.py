"""The addresses of YouTube videos."""

import re

_VIDEO = re.compile(
    r"https?://(?:(?:www\.|m\.)?youtube(?:-nocookie)?\.com/(?:watch\?(?:\S*&)?v=|embed/|shorts/|live/)"
    r"|youtu\.be/)([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])"
)


def video_of(url: str) -> str:
    """Return the identifier of the YouTube video at an address, an empty text if there is none."""
    video = _VIDEO.match(url)
    return video[1] if video else ""
