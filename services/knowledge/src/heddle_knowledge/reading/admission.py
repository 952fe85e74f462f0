"""Determines the type of a document by its name, and refuses one that is too large.

The service does both itself. The readers of the formats are loaded by the processes that read.
"""

from pathlib import PurePosixPath
from types import MappingProxyType

from heddle_knowledge.errors import UnreadableDocumentError

LARGEST_DOCUMENT = 32 * 1024 * 1024
"""Bytes that one document may have."""
PDF = "application/pdf"
WORD = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
UNKNOWN = "application/octet-stream"
_BY_SUFFIX = MappingProxyType({
    "": "text/plain",
    ".csv": "text/csv",
    ".docx": WORD,
    ".htm": "text/html",
    ".html": "text/html",
    ".json": "application/json",
    ".log": "text/plain",
    ".markdown": "text/markdown",
    ".md": "text/markdown",
    ".pdf": PDF,
    ".rst": "text/x-rst",
    ".srt": "application/x-subrip",
    ".text": "text/plain",
    ".toml": "application/toml",
    ".tsv": "text/tab-separated-values",
    ".txt": "text/plain",
    ".vtt": "text/vtt",
    ".xhtml": "application/xhtml+xml",
    ".xml": "application/xml",
    ".yaml": "application/yaml",
    ".yml": "application/yaml",
})  # fmt: skip
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})


def media_type_of(name: str) -> str:
    """Return the media type that a file's name suggests, or `application/octet-stream`."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), UNKNOWN)


def check_size(data: bytes, name: str) -> None:
    """Refuse a document of too many bytes.

    Raises:
        UnreadableDocumentError: Names it.
    """
    if len(data) > LARGEST_DOCUMENT:
        raise UnreadableDocumentError(
            f"{name!r} has {len(data):,} bytes; at most {LARGEST_DOCUMENT:,} can be read. "
            "Split it into smaller documents."
        )
