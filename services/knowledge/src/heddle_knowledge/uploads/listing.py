"""Selects, orders and counts the files of a collection."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.contract.limits import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE
from heddle_runtime.contract.paging import cut, page_size, read_token
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_knowledge.collection.names import document_id
from heddle_knowledge.collection.types import EMBEDDED, Collection, Document
from heddle_knowledge.service.calls import check_enums, refuse
from heddle_knowledge.uploads.records import Attachment, Reading, is_id

if TYPE_CHECKING:
    from heddle_knowledge.store import KnowledgeStore

_STATES = ("in_progress", "failed", "cancelled", "completed")
"""In the order of `FILE_ORDER_STATUS`: what needs attention comes first."""


def list_attachments(
    files: Sequence[Attachment], request: pb.ListAttachedFilesRequest
) -> tuple[Sequence[Attachment], str, int]:
    """Return a page of files, the token of the next page, and how many files match.

    A page begins after the place of the last file of the page before, so that files that come, go
    or change between two calls neither repeat nor hide others.

    Raises:
        InvalidRequestError: The request cannot be.
    """
    refuse(check_enums(request), "The files cannot be listed.")
    size = page_size(request.page_size, DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE)
    matching = sorted(_matching(files, request), key=lambda it: _place(it, request.order_by))
    if request.descending:
        matching.reverse()
    after = _start(files, request)
    following = (each for each in matching if _follows(each, after, request))
    page = list(islice(following, size + 1))
    shown, token = cut(page, size, lambda it: _place(it, request.order_by))
    return shown, token, len(matching)


async def ingested(
    store: "KnowledgeStore", collection: Collection, files: Sequence[Attachment]
) -> list[Attachment]:
    """Return the documents of a collection that are none of its `files`, as completed files."""
    if collection.backend != EMBEDDED:
        return []
    size = await store.collections.size(collection.id)
    if size.documents <= sum(each.state == "completed" for each in files):
        return []
    known = {each.document for each in files}
    return [
        _as_file(collection, each)
        for each in await store.documents.all(collection.id)
        if each.name not in known and not is_id(each.metadata.get("file_id", ""))
    ]


def _as_file(collection: Collection, document: Document) -> Attachment:
    return Attachment(
        file_id=document_id(collection.id, document.name),
        collection=collection.id,
        document=document.name,
        person="",
        filename=document.name,
        media_type=document.media_type,
        size=document.size,
        attributes=dict(document.metadata),
        created_at=int(document.ingested_at.timestamp() * 1_000_000),
        state="completed",
        reading=Reading(uri=document.uri),
    )


def counts(files: Sequence[Attachment]) -> pb.AttachedFileCounts:
    """Count files by state."""
    count = Counter[str](each.state for each in files)
    return pb.AttachedFileCounts(
        **{state: count[state] for state in _STATES}, bytes=sum(each.size for each in files)
    )


def _matching(
    files: Sequence[Attachment], request: pb.ListAttachedFilesRequest
) -> list[Attachment]:
    text = request.text.casefold()
    state = pb.AttachmentStatus.Name(request.status).removeprefix("ATTACHMENT_STATUS_").lower()
    return [
        each
        for each in files
        if (not request.status or each.state == state)
        and (not text or text in each.filename.casefold())
    ]


def _place(file: Attachment, order: int) -> str:
    created = f"{file.created_at:020}/{file.file_id}"
    if order == pb.FILE_ORDER_NAME:
        return f"{file.filename.casefold()}\0{created}"
    if order == pb.FILE_ORDER_SIZE:
        return f"{file.size:020}/{created}"
    if order == pb.FILE_ORDER_STATUS:
        return f"{_STATES.index(file.state)}/{created}"
    return created


def _start(files: Sequence[Attachment], request: pb.ListAttachedFilesRequest) -> str:
    """Return the place after which the page begins; empty for the first page."""
    if not request.after_file_id:
        return read_token(request.page_token)
    for each in files:
        if each.file_id == request.after_file_id:
            return _place(each, request.order_by)
    violation = Violation("after_file_id", "is not in the list")
    raise InvalidRequestError("The files cannot be listed.", [violation])


def _follows(file: Attachment, after: str, request: pb.ListAttachedFilesRequest) -> bool:
    if not after:
        return True
    place = _place(file, request.order_by)
    return place < after if request.descending else place > after
