"""Passages in the form of LAMB's knowledge-base server."""

import re
from typing import Any
from urllib.parse import quote

from heddle.knowledge.v1 import knowledge_pb2 as pb
from heddle_gateway.http.models import Model

PARAMETERS = "lamb_plugin_params"
"""The attribute of an attached file with the parameters of its plugin, as JSON."""
_COPIED = "lamb_file"
"""The attribute of a file that was copied from LAMB's server, as the import names it."""
_OWN = ("filename", "original_filename", "chunk_index")
"""Metadata that LAMB's clients set themselves for documents they have read and cut."""
_VIDEO = re.compile(r"https://youtu\.be/([A-Za-z0-9_-]{11})")
_TIME = re.compile(r"(\d{1,3}):(\d{2}):(\d{2})")


class SearchResult(Model):
    """A passage."""

    similarity: float
    data: str
    metadata: dict[str, Any]


def content_path(collection: str, file: str) -> str:
    """Return the path of the content of a file, which LAMB appends to its server's address."""
    return f"/collections/{collection}/files/{file}/content"


def result(passage: pb.Passage, collection: str, *, sections: bool, whole: bool) -> SearchResult:
    """Return a passage as LAMB reads it.

    Args:
        passage: The passage.
        collection: The collection, as the request names it.
        sections: Whether to return the section around the passage in the metadata.
        whole: Whether to return it as `data`.
    """
    stored = dict(passage.metadata)
    stored.pop(PARAMETERS, None)
    file = stored.get("file_id", "")
    # The address of a copy is LAMB's, that of an upload this one's: this server has both.
    is_here = _COPIED in stored or not passage.uri or passage.uri.endswith(f"/{file}/content")
    is_file = bool(file) and is_here
    metadata: dict[str, Any] = {
        "filename": (not is_file and passage.title) or passage.document,
        "original_filename": passage.document,
        "chunk_index": passage.ordinal,
        "chunk_id": passage.id,
        "document_id": passage.document_id,
    }
    metadata = stored | metadata | {name: stored[name] for name in _OWN if name in stored}
    if is_file:
        path = content_path(quote(collection), quote(file))
        metadata |= {"file_url": path, "original_file_url": path}
    elif passage.uri and _COPIED not in stored:
        metadata = {"file_url": passage.uri} | metadata | _web(passage)
    if passage.page:
        metadata["page"] = passage.page
    if sections:
        metadata["parent_text"] = passage.parent_text
    text = (whole and passage.parent_text) or passage.text
    return SearchResult(similarity=passage.similarity, data=text, metadata=metadata)


def _web(passage: pb.Passage) -> dict[str, Any]:
    """Return where people read a passage: of a video, at its time."""
    video = _VIDEO.fullmatch(passage.uri)
    time = _TIME.fullmatch(passage.headings[-1]) if passage.headings else None
    if not video:
        return {"source_url": passage.uri}
    if not time:
        return {"source_url": passage.uri, "video_id": video[1]}
    hours, minutes, seconds = map(int, time.groups())
    start = 3600 * hours + 60 * minutes + seconds
    return {
        "source_url": f"{passage.uri}?t={start}",
        "video_id": video[1],
        "start_time": start,
        "start_timestamp": f"{hours:02}:{minutes:02}:{seconds:02},000",
    }
