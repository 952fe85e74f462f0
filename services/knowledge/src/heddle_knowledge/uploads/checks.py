"""Checks uploaded files and their attributes."""

import hashlib
from pathlib import PurePosixPath
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle.knowledge.v1 import files_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_knowledge.collection.names import is_printable
from heddle_knowledge.service.calls import MAX_KEY_CHARACTERS
from heddle_knowledge.uploads.records import FILE, new_id

PURPOSES = ("assistants", "user_data", "batch", "batch_output")
MAX_BYTES = 30 * 1024**2
MAX_BATCHED_FILES = 2_000
"""Files of a batch."""
_MAX_NAME_CHARACTERS = 255
_MAX_KEY_OF_UPLOAD_CHARACTERS = 2_048
_MAX_ATTRIBUTES = 16
_MAX_TEXT_CHARACTERS = 512
_RESERVED = "file_id"


def filename(request: pb.CreateFileRequest) -> str:
    """Return the name of an upload, without folders.

    Raises:
        InvalidRequestError: The name, the purpose or the content cannot be.
    """
    name = PurePosixPath(request.filename.replace("\\", "/")).name
    if not 1 <= len(name) <= _MAX_NAME_CHARACTERS or not name.strip() or not is_printable(name):
        what = f"must have 1 to {_MAX_NAME_CHARACTERS} characters, none of them a control character"
        raise _wrong("filename", what)
    if request.purpose not in PURPOSES:
        raise _wrong("purpose", f"must be {' or '.join(map(repr, PURPOSES))}")
    if len(request.data) > MAX_BYTES:
        raise _wrong("data", f"must have at most {MAX_BYTES >> 20} MiB")
    return name


def upload_id(person: str, upload_key: str) -> str:
    """Return the identifier of an upload: with a key always the same.

    Raises:
        InvalidRequestError: The key is too long.
    """
    if len(upload_key) > _MAX_KEY_OF_UPLOAD_CHARACTERS:
        raise _wrong(
            "upload_key", f"must have at most {_MAX_KEY_OF_UPLOAD_CHARACTERS:,} characters"
        )
    if not upload_key:
        return new_id()
    digest = hashlib.sha256(f"{person}\0{upload_key}".encode())
    return f"{FILE}{digest.hexdigest()[:32]}"


def batched(request: pb.CreateFileBatchRequest) -> dict[str, dict[str, Any]]:
    """Return the attributes of the files of a batch, by the identifiers of the files.

    Raises:
        InvalidRequestError: They cannot be, a file is named twice, or they are too many or none.
    """
    if not 1 <= len(request.files) <= MAX_BATCHED_FILES:
        raise _wrong("files", f"must have 1 to {MAX_BATCHED_FILES:,} items")
    values: dict[str, dict[str, Any]] = {}
    for index, each in enumerate(request.files):
        if each.file_id in values:
            raise _wrong(f"files[{index}].file_id", "names a file for the second time")
        values[each.file_id] = attributes(each.attributes, f"files[{index}].attributes")
    return values


def attributes(struct: Struct, place: str = "attributes") -> dict[str, Any]:
    """Return attributes that a file in a collection may have; `place` is where they stand.

    Raises:
        InvalidRequestError: They cannot be.
    """
    try:
        values = from_struct(struct)
    except ValueError:
        raise _wrong(place, "must hold neither NaN nor infinite numbers") from None
    if len(values) > _MAX_ATTRIBUTES:
        raise _wrong(place, f"must have at most {_MAX_ATTRIBUTES} entries")
    for key, value in values.items():
        path = f"{place}.{key[:80]}"
        if key == _RESERVED:
            raise _wrong(path, "is set by the service; choose another key")
        if not 1 <= len(key) <= MAX_KEY_CHARACTERS:
            raise _wrong(path, f"must have a key of 1 to {MAX_KEY_CHARACTERS} characters")
        if not isinstance(value, str | int | float | bool):
            raise _wrong(path, "must be a text, a number or a truth value")
        if isinstance(value, str) and len(value) > _MAX_TEXT_CHARACTERS:
            raise _wrong(path, f"must have at most {_MAX_TEXT_CHARACTERS} characters")
    return values


def _wrong(field: str, what: str) -> InvalidRequestError:
    return InvalidRequestError("The file is not valid.", [Violation(field, what)])
