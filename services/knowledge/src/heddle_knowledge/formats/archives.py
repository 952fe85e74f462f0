"""Zip archives from strangers: what may be unpacked."""

from io import BytesIO
from zipfile import BadZipFile, ZipFile

from heddle_knowledge.errors import UnreadableDocumentError

LARGEST = 200_000_000
"""Bytes that all files of an archive may have unpacked."""
LARGEST_XML = 60_000_000
"""Bytes that one of them may have that is XML, of which a tree takes some twenty times as many."""
MOST_FILES = 10_000


def check_archive(data: bytes, name: str) -> None:
    """Refuse an archive that unpacks to too much, before anything of it is unpacked.

    The sizes that it states are kept: `zipfile` reads no more of a file than its stated size.

    Raises:
        UnreadableDocumentError: It is too large, encrypted, or no archive.
    """
    try:
        with ZipFile(BytesIO(data)) as archive:
            files = archive.infolist()
    except (BadZipFile, ValueError, NotImplementedError, EOFError) as error:
        raise UnreadableDocumentError(
            f"{name!r} is damaged, encrypted, or of an older format. Open it in an office program, "
            "remove its password, and save it again as .docx."
        ) from error
    xml = max((file.file_size for file in files if _is_xml(file.filename)), default=0)
    whole = sum(file.file_size for file in files)
    if len(files) > MOST_FILES or whole > LARGEST or xml > LARGEST_XML:
        raise UnreadableDocumentError(
            f"{name!r} unpacks to more than {LARGEST:,} bytes ({LARGEST_XML:,} of text with its "
            f"markup) or {MOST_FILES:,} files. Take pictures out of it, or split it into smaller "
            "documents."
        )


def _is_xml(file: str) -> bool:
    return file.lower().endswith((".xml", ".rels"))
