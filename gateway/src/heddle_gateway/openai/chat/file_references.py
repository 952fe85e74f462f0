"""Replaces identifiers of uploaded files in a conversation with the files."""

import re
from collections.abc import Iterator, Sequence
from mimetypes import guess_type

from heddle.chat.v1.chat_pb2 import Media
from heddle.knowledge.v1 import files_pb2
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation

from heddle_gateway.openai.chat.content_parts import MAX_MEDIA_BYTES, UNKNOWN_TYPE
from heddle_gateway.services import call
from heddle_gateway.state import State

_ID = re.compile(r"file-[0-9a-f]{32}")
_UNKNOWN = "is no file of yours. Upload it with POST /v1/files, or send it as file_data"


async def inline_files(state: State, run: RunCompletionRequest, places: Sequence[str] = ()) -> None:
    """Fill in the content of each file that the conversation names by its identifier.

    Args:
        state: The gateway's.
        run: The request, whose files are filled in.
        places: The places of the messages in a body of another form than a chat completion's.

    Raises:
        InvalidRequestError: The caller has no such file, or the files are too large.
        HeddleError: The files are not available.
    """
    size = 0
    for place, media in _references(run, places):
        file = await _file(state, media.uri, place)
        size += file.size
        if size > MAX_MEDIA_BYTES:
            raise _invalid(place, f"exceeds {MAX_MEDIA_BYTES} bytes with the files before it")
        request = files_pb2.GetFileContentRequest(id=file.id)
        response = await call(state.services.files.GetFileContent, request)
        media.data, media.filename = response.data, file.filename
        media.media_type = file.media_type or guess_type(file.filename)[0] or UNKNOWN_TYPE


def _references(run: RunCompletionRequest, places: Sequence[str]) -> Iterator[tuple[str, Media]]:
    member = "file_id" if places else "file.file_id"
    for number, message in enumerate(run.messages):
        place = places[number] if places else f"messages[{number}].content"
        for index, part in enumerate(message.parts):
            if part.HasField("file") and part.file.HasField("uri"):
                yield f"{place}[{index}].{member}", part.file
            elif part.HasField("image") and _is_file(part.image.uri):
                yield f"{place}[{index}].{member}", part.image


def _is_file(uri: str) -> bool:
    """Return whether an image is an uploaded file; other images have an address."""
    return bool(uri) and uri[:8].lower() != "https://"


async def _file(state: State, identifier: str, place: str) -> files_pb2.File:
    if not _ID.fullmatch(identifier):
        raise _invalid(place, _UNKNOWN)
    try:
        request = files_pb2.GetFileRequest(id=identifier)
        return (await call(state.services.files.GetFile, request)).file
    except NotFoundError:
        raise _invalid(place, _UNKNOWN) from None


def _invalid(place: str, reason: str) -> InvalidRequestError:
    return InvalidRequestError(f"{place} {reason}.", [Violation(place, reason)])
