"""Multipart forms with one file, as browsers and OpenAI's clients upload them."""

import re
from dataclasses import dataclass
from typing import Annotated, Any

from heddle_runtime.errors import InvalidRequestError
from pydantic import AfterValidator, InstanceOf, WithJsonSchema
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request

from heddle_gateway.http.error_responses import invalid

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
