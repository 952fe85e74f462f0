"""Transcripts of YouTube videos: the page of a video names its tracks of captions."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from heddle_knowledge.errors import FetchError
from heddle_knowledge.web.fetching import WebDocuments

_TRACKS = b'"captionTracks":'
_NONE = "The video offers no transcript. Add its text instead."
_SPARE_LANGUAGE = "en"
_VIDEO = re.compile(
    r"https?://(?:(?:www\.|m\.)?youtube(?:-nocookie)?\.com/(?:watch\?(?:\S*&)?v=|embed/|shorts/|live/)"
    r"|youtu\.be/)([A-Za-z0-9_-]{11})(?![A-Za-z0-9_-])"
)


def video_of(url: str) -> str:
    """Return the identifier of the YouTube video at an address, an empty text if there is none."""
    video = _VIDEO.match(url)
    return video[1] if video else ""


class Transcripts:
    """Fetches transcripts as WebVTT."""

    def __init__(self, documents: WebDocuments, address: str) -> None:
        self._documents = documents
        self._address = address

    async def fetch(self, url: str, language: str) -> bytes:
        """Return the transcript of the video at an address.

        Args:
            url: The address, at which `video_of` finds a video.
            language: The preferred language; otherwise English, then any.

        Raises:
            FetchError: The video has none, or it cannot be fetched.
        """
        page = await self._documents.fetch(f"{self._address}/watch?v={video_of(url)}")
        track = _best(_tracks(page.data), language)
        address = str(track.get("baseUrl", ""))
        if address.startswith("/"):
            address = self._address + address
        separator = "&" if urlsplit(address).query else "?"
        captions = await self._documents.fetch(f"{address}{separator}fmt=vtt")
        if not captions.data.strip():
            raise FetchError(_NONE)
        return captions.data


def _tracks(page: bytes) -> list[Mapping[str, Any]]:
    _, _, rest = page.partition(_TRACKS)
    try:
        tracks, _ = json.JSONDecoder().raw_decode(rest.decode("utf-8", "replace").lstrip())
    except (ValueError, RecursionError):
        tracks = []
    if not isinstance(tracks, list):
        return []
    return [each for each in tracks if isinstance(each, Mapping)]


def _best(tracks: Sequence[Mapping[str, Any]], language: str) -> Mapping[str, Any]:
    if not tracks:
        raise FetchError(_NONE)
    written_first = sorted(tracks, key=lambda each: each.get("kind") == "asr")
    for preferred in (language.lower(), _SPARE_LANGUAGE):
        for track in written_first:
            code = str(track.get("languageCode", "")).lower()
            if preferred and (code == preferred or code.startswith(f"{preferred}-")):
                return track
    return written_first[0]
