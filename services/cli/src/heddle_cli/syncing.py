"""Removes documents of a collection whose files are gone from the folder that they came from."""

import platform
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit

import typer
from heddle.knowledge.v1 import knowledge_pb2
from heddle.knowledge.v1.knowledge_pb2_grpc import KnowledgeServiceStub

from heddle_cli.connections import Connection
from heddle_cli.documents import Document
from heddle_cli.pages import whole
from heddle_cli.sources.opening import is_source

SYNC = "sync"
"""The key in the metadata of documents under which the mark of their folder is."""
_SECONDS = 60.0


def source_mark(paths: Sequence[str]) -> str:
    """Return what tells the documents of a source from others, without its whole address.

    Raises:
        BadParameter: The paths are not one folder or one other source.
    """
    if len(paths) == 1 and is_source(paths[0]):
        digest = sha256(paths[0].encode(errors="replace")).hexdigest()
        return f"{urlsplit(paths[0]).hostname or ''}-{digest[:12]}"
    if len(paths) != 1 or not Path(paths[0]).is_dir():
        raise typer.BadParameter("--sync takes exactly one folder or one other source.")
    folder = Path(paths[0]).resolve()
    digest = sha256(f"{platform.node()}\0{folder}".encode(errors="replace")).hexdigest()
    return f"{folder.name[:40]}-{digest[:12]}"


def remove_gone(
    connection: Connection[KnowledgeServiceStub],
    common: knowledge_pb2.IngestDocumentRequest,
    files: Sequence[Document],
) -> Iterator[tuple[str, str]]:
    """Delete the documents of the folder that have no file any more.

    Args:
        connection: The connection to the knowledge service.
        common: The collection, and the metadata with the mark of the folder.
        files: The files of the folder.

    Yields:
        The name of each deleted document, and what became of its file.
    """
    request = knowledge_pb2.ListDocumentsRequest(collection=common.collection)
    listed = whole(connection.stub.ListDocuments, request).documents
    marked = [each for each in listed if each.metadata.get(SYNC) == common.metadata[SYNC]]
    names = {each.name for each in files}
    present = {each.sha256: each.name for each in marked if each.name in names}
    for document in marked:
        if document.name in names:
            continue
        connection.stub.DeleteDocument(
            knowledge_pb2.DeleteDocumentRequest(collection=common.collection, name=document.name),
            timeout=_SECONDS,
        )
        twin = present.get(document.sha256)
        yield document.name, f"renamed, now {twin}" if twin else "its file is gone"
