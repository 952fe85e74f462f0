"""The numbers by which LAMB's forms name collections and files: its models refuse other text.

The number of what Heddle has named is made of its identifier, so that nothing stores it. It has 53
bits, which JavaScript counts exactly; the numbers of LAMB's own server are smaller.
"""

import re
from typing import Annotated

from heddle.knowledge.v1 import files_pb2, knowledge_pb2
from heddle_gateway.http.models import identifier
from heddle_gateway.openai import vector_stores
from heddle_gateway.services import ServiceClients, call
from heddle_runtime.errors import NotFoundError

_FIRST = 1 << 52
_DIGITS, _ID_DIGITS = 13, 32
_NUMBER = re.compile(r"[1-9][0-9]{15}")
CollectionId = Annotated[str, identifier("The collection's number, identifier or name.")]
FileNumber = Annotated[
    str,
    identifier(
        "The file's number; also its identifier.",
        pattern="^((file-|doc_)[0-9a-f]{32}|[0-9]{1,16})$",
    ),
]


def number_of(name: str) -> int:
    """Return the number of a collection, file or document that Heddle has named."""
    return _FIRST | int(name[-_ID_DIGITS:][:_DIGITS], 16)


def is_heddles(reference: str) -> bool:
    """Return whether a number is of the range in which LAMB's own server has none."""
    return _NUMBER.fullmatch(reference) is not None and int(reference) >= _FIRST


def number_in_lamb(collection: knowledge_pb2.Collection) -> int:
    """Return the number by which LAMB knows a collection: that of its own server, if it has one."""
    former = collection.settings.get("collection_id", "")
    return int(former) if former.isdecimal() else number_of(collection.id)


async def get_collection(services: ServiceClients, reference: str) -> knowledge_pb2.Collection:
    """Return the collection with a number, an identifier or a name.

    Raises:
        HeddleError: It is not available to the caller.
    """
    try:
        return await vector_stores.get_collection(services, reference)
    except NotFoundError:
        if is_heddles(reference):
            for each in await vector_stores.collections(services):
                if number_of(each.id) == int(reference):
                    return each
        raise


async def get_file(
    services: ServiceClients, collection: str, reference: str
) -> files_pb2.AttachedFile:
    """Return the file of a collection with a number or an identifier.

    Raises:
        HeddleError: It is not available to the caller.
    """
    if not reference.isdecimal():
        request = files_pb2.GetAttachedFileRequest(collection=collection, file_id=reference)
        return (await call(services.files.GetAttachedFile, request)).file
    for each in await vector_stores.attached_files(services, collection):
        if number_of(each.file_id) == int(reference):
            return each
    raise NotFoundError(f"The collection has no file {reference}.")
