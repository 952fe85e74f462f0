"""Reads request bodies, with limits for their size and time."""

import asyncio
import re
from dataclasses import dataclass
from typing import Annotated, Any

from heddle_runtime.errors import InvalidRequestError
from pydantic import AfterValidator, InstanceOf, WithJsonSchema
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.types import Message

from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError, invalid
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.settings import GatewaySettings

MEDIA_TYPE = "multipart/form-data"
MAX_FIELDS = 32
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a form."""

    filename: str
    media_type: str
    """As the client declares it; empty for `application/octet-stream`."""
    data: bytes


def _with_content(file: UploadedFile) -> UploadedFile:
    if not file.data:
        raise ValueError("must not be empty")
    return file


_BINARY = WithJsonSchema({"type": "string", "format": "binary"})
FormFile = Annotated[InstanceOf[UploadedFile], AfterValidator(_with_content), _BINARY]
EmptyableFile = Annotated[InstanceOf[UploadedFile], _BINARY]
"""A file that may be empty."""


async def read_form(request: Request) -> dict[str, Any]:
    """Return the fields of a multipart form, its file as an `UploadedFile`.

    Raises:
        InvalidRequestError: The body is not such a form.
    """
    if not request.headers.get("content-type", "").lower().startswith(MEDIA_TYPE):
        raise InvalidRequestError(f"The body must be {MEDIA_TYPE}, with the field 'file'.")
    try:
        async with request.form(max_files=1, max_fields=MAX_FIELDS) as form:
            fields = {
                name: await _file(name, value) if isinstance(value, UploadFile) else value
                for name, value in form.items()
            }
    except HTTPException as error:
        raise InvalidRequestError(f"The form cannot be read: {error.detail}.") from None
    except (KeyError, ValueError) as error:
        raise InvalidRequestError(f"The form cannot be read: {error}.") from None
    for name, value in fields.items():
        text = value.filename if isinstance(value, UploadedFile) else value
        if _SURROGATE.search(f"{name}{text}"):  # some charsets of a form can express it
            raise InvalidRequestError("The form contains text that is not Unicode.")
    return fields


async def _file(name: str, file: UploadFile) -> UploadedFile:
    if not file.filename:
        raise invalid(name, "must be a file with a name", "The field")
    data = await file.read()
    media_type = (file.content_type or "").partition(";")[0].strip().lower()
    if media_type == "application/octet-stream":
        media_type = ""
    return UploadedFile(file.filename, media_type, data)


# A slow connection may take longer than the timeout while it delivers at this rate.
MIN_BYTES_PER_SECOND = 256 * 1024
# The body is read up to this multiple of the limit before it is rejected: a client that is still
# sending when the connection closes often loses the response.
_READ_FACTOR = 4


class ClientGoneError(Exception):
    """The client closed the connection before it had its response."""


async def read_body(request: RawRequest, settings: GatewaySettings) -> bytes:
    """Return the body of a request, within the limits of the settings.

    Raises:
        RejectedRequestError: The body is too large or too slow.
        ClientGoneError: The client closed the connection.
    """
    max_bytes = settings.max_body_bytes
    if request.connection.request_complete:
        body = request.connection.take_body()
    else:
        length = request.header("content-length")
        if length.isdecimal() and int(length) > max_bytes:
            # A client that waits for permission to send the body sends it elsewhere. Another one
            # may read the response after the body, which uvicorn drops.
            raise _too_large(max_bytes, close=bool(request.header("expect")))
        body = await _read_parts(request, max_bytes, settings.body_timeout_seconds)
    if len(body) > max_bytes:
        raise _too_large(max_bytes)
    return body


async def _read_parts(request: RawRequest, max_bytes: int, timeout: float) -> bytes:  # noqa: ASYNC109 - it grows with what arrives
    """Return a body that is still arriving; of one that is too large, more than the limit."""
    started = asyncio.get_running_loop().time()
    parts: list[bytes] = []
    length = 0
    try:
        async with asyncio.timeout(timeout) as limit:
            while True:
                message = await _receive(request)
                part = message["body"]
                if length <= max_bytes:
                    parts.append(part)
                length += len(part)
                if length > max_bytes * _READ_FACTOR or not message["more_body"]:
                    return b"".join(parts)
                limit.reschedule(started + timeout + length / MIN_BYTES_PER_SECOND)
    except TimeoutError:
        text = "The request's body did not arrive in time."
        error = ErrorResponse(408, text, code="body_timeout", close=True)
        raise RejectedRequestError(error) from None


async def _receive(request: RawRequest) -> Message:
    message = await request.receive()
    if message["type"] == "http.disconnect":
        raise ClientGoneError
    return message


def _too_large(max_bytes: int, *, close: bool = True) -> RejectedRequestError:
    message = f"The request's body is larger than {max_bytes} bytes."
    return RejectedRequestError(ErrorResponse(413, message, code="request_too_large", close=close))
