"""Replaces the files in a conversation with their texts, or with images."""

import re
from collections.abc import Iterator, Sequence
from mimetypes import guess_type

from heddle.chat.v1.chat_pb2 import ContentPart, Media
from heddle.knowledge.v1 import files_pb2
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionRequest
from heddle_runtime.errors import InvalidRequestError, NotFoundError, Violation

from heddle_gateway.http.error_responses import rejected
from heddle_gateway.openai.chat.messages import MAX_MEDIA_BYTES, UNKNOWN_TYPE
from heddle_gateway.services import call
from heddle_gateway.state import State

_ID = re.compile(r"file-[0-9a-f]{32}")
MAX_FILE_CHARACTERS = 200_000
"""The length of the text of a file in a message."""
_PDF = "application/pdf"
_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/gif"})
_END = "</attached_files>"
READ = "text/vnd.heddle.read"
"""The media type of the text of a file that was read in an earlier turn."""
_UNKNOWN = "is no file of yours. Upload it with POST /v1/files, or send it as file_data"


async def inline_files(
    state: State, run: RunCompletionRequest, places: Sequence[str] = ()
) -> dict[str, str]:
    """Replace each file of a conversation by what models read: its text, or an image.

    A PDF without text stays a file, which the model's provider may be able to read.

    Args:
        state: The gateway's.
        run: The request, whose files are replaced.
        places: The places of the messages in a body of another form than a chat completion's.

    Returns:
        The texts of the files whose contents the request has, by their places.

    Raises:
        InvalidRequestError: The caller has no such file, no text can be read from it, or the files
            are too large.
        RejectedRequestError: The text of a file is too long.
        HeddleError: The files are not available.
    """
    size, texts = 0, dict[str, str]()
    for place, member, part in _references(run, places):
        media = part.file if part.HasField("file") else part.image
        at = place
        if media.HasField("uri"):
            at = f"{place}.{member}"
            file = await _file(state, media.uri, at)
            size += file.size
            if size > MAX_MEDIA_BYTES:
                raise _invalid(at, f"exceeds {MAX_MEDIA_BYTES} bytes with the files before it")
            content = files_pb2.GetFileContentRequest(id=file.id)
            response = await call(state.services.files.GetFileContent, content)
            media.data, media.filename = response.data, file.filename
            media.media_type = file.media_type or guess_type(file.filename)[0] or UNKNOWN_TYPE
        if part.HasField("image"):
            continue
        if media.media_type in _IMAGES:
            image = Media(data=media.data, media_type=media.media_type)
            part.image.CopyFrom(image)
        elif text := await _text(state, media, at):
            if at == place:
                texts[place] = text
            part.text = _attached(media.filename, text)
    return texts


async def _text(state: State, media: Media, place: str) -> str:
    """Return the text of a file, an empty one if its model may read what readers cannot."""
    if media.media_type == READ:
        return media.data.decode(errors="replace")[:MAX_FILE_CHARACTERS]
    name = media.filename or "file"
    request = files_pb2.GetFileTextRequest(
        data=media.data,
        filename=name,
        media_type=media.media_type,
        max_characters=MAX_FILE_CHARACTERS,
    )
    try:
        response = await call(state.services.files.GetFileText, request)
    except InvalidRequestError as error:
        if media.media_type == _PDF:
            return ""
        raise _invalid(place, f"cannot be read: {error.message.rstrip('.')}") from None
    if response.truncated:
        message = f"{place} has more than {MAX_FILE_CHARACTERS:,} characters of text."
        raise rejected(place, message, "file_too_large")
    return response.text


def _attached(name: str, text: str) -> str:
    """Return the text of a file in the form that is no part of what tools search for."""
    lines = "\n".join((f"File {' '.join(name.split())}:", text.replace(_END, "")))
    return f"<attached_files>\n{lines}\n{_END}\n"


def _references(
    run: RunCompletionRequest, places: Sequence[str]
) -> Iterator[tuple[str, str, ContentPart]]:
    """Yield the place, the member of an identifier and the part of each file."""
    member = "file_id" if places else "file.file_id"
    for number, message in enumerate(run.messages):
        place = places[number] if places else f"messages[{number}].content"
        for index, part in enumerate(message.parts):
            if part.HasField("file") or (part.HasField("image") and _is_file(part.image.uri)):
                yield f"{place}[{index}]", member, part


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
