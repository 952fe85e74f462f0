"""Determines the type of a document by its name, and refuses one that is too large.

The service does both itself. The readers of the formats are loaded by the processes that read.
"""

from pathlib import PurePosixPath
from types import MappingProxyType

from heddle_knowledge.errors import UnreadableDocumentError

LARGEST_DOCUMENT = 32 * 1024 * 1024
"""Bytes that one document may have."""
PDF = "application/pdf"
_OFFICE_OPEN = "application/vnd.openxmlformats-officedocument"
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument"
WORD = f"{_OFFICE_OPEN}.wordprocessingml.document"
_OFFICE_BY_SUFFIX = MappingProxyType({
    ".docx": WORD,
    ".epub": "application/epub+zip",
    ".odp": f"{_OPEN_DOCUMENT}.presentation",
    ".ods": f"{_OPEN_DOCUMENT}.spreadsheet",
    ".odt": f"{_OPEN_DOCUMENT}.text",
    ".pptx": f"{_OFFICE_OPEN}.presentationml.presentation",
    ".rtf": "application/rtf",
    ".xlsx": f"{_OFFICE_OPEN}.spreadsheetml.sheet",
})  # fmt: skip
_ZIP, _OLE = "application/zip", "application/x-ole-storage"
OFFICE = frozenset({*_OFFICE_BY_SUFFIX.values(), _ZIP, _OLE})
"""Formats that one reader tells apart by their bytes."""
MAIL = "message/rfc822"
SOURCE_CODE = "text/x-source-code"
_CODE = (
    ".bat", ".c", ".cc", ".cpp", ".cs", ".css", ".go", ".h", ".hpp", ".java", ".jl", ".js", ".jsx",
    ".kt", ".lua", ".php", ".pl", ".ps1", ".py", ".r", ".rb", ".rs", ".scala", ".sh", ".sql",
    ".swift", ".tex", ".ts", ".tsx", ".vue",
)  # fmt: skip
UNKNOWN = "application/octet-stream"
_BY_SUFFIX = MappingProxyType({
    "": "text/plain",
    ".csv": "text/csv",
    ".eml": MAIL,
    ".htm": "text/html",
    ".html": "text/html",
    ".ipynb": "application/x-ipynb+json",
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
    **_OFFICE_BY_SUFFIX,
    **dict.fromkeys(_CODE, SOURCE_CODE),
})  # fmt: skip
_UNSPECIFIC = frozenset({
    "application/json", "application/vnd.ms-excel", "application/x-zip-compressed",
    "text/comma-separated-values", "text/plain", "text/x-csv",
})  # fmt: skip
"""Types that browsers and systems state for files of others."""
_SIGNATURES = ((b"PK\3\4", _ZIP), (b"\xd0\xcf\x11\xe0", _OLE), (b"{\\rtf", "application/rtf"))
_PDF_STARTS_WITHIN = 1_024
MARKDOWN = frozenset({"text/markdown", "text/x-markdown"})


def media_type_of(name: str) -> str:
    """Return the media type that a file's name suggests, or `application/octet-stream`."""
    return _BY_SUFFIX.get(PurePosixPath(name).suffix.lower(), UNKNOWN)


def kind_of(data: bytes, media_type: str, name: str) -> tuple[str, str]:
    """Return the media type of a document in small letters, and the parameters that are stated.

    The bytes decide for PDF, archives of office programs and RTF. The name decides where the
    stated type says little, or is one that no reader knows.
    """
    stated, _, parameters = media_type.partition(";")
    stated = stated.strip().lower()
    if b"%PDF-" in data[:_PDF_STARTS_WITHIN]:
        return PDF, parameters
    by_name = media_type_of(name)
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            return next((it for it in (stated, by_name) if it in OFFICE), kind), parameters
    if stated in {"", UNKNOWN}:
        return by_name, parameters
    # Files of the other types would have begun with their signatures.
    if by_name in {UNKNOWN, PDF} | OFFICE or not PurePosixPath(name).suffix:
        return stated, parameters
    is_readable = stated.startswith("text/") or stated in _BY_SUFFIX.values()
    return by_name if stated in _UNSPECIFIC or not is_readable else stated, parameters


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
