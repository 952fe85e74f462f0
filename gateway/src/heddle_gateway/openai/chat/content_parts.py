"""Translates OpenAI's content parts into those of the contract."""

import base64
import binascii
import mimetypes
from typing import Any

from heddle.chat.v1.chat_pb2 import (
    IMAGE_DETAIL_AUTO,
    IMAGE_DETAIL_HIGH,
    IMAGE_DETAIL_LOW,
    IMAGE_DETAIL_UNSPECIFIED,
    ContentPart,
    ForeignPart,
    Media,
)

from heddle_gateway.http import validation
from heddle_gateway.http.json_text import Place

MAX_PARTS = 1024
MAX_MEDIA_BYTES = 20 * 1024 * 1024
_DETAILS = {"auto": IMAGE_DETAIL_AUTO, "low": IMAGE_DETAIL_LOW, "high": IMAGE_DETAIL_HIGH}
_AUDIO = {"mp3": "audio/mpeg", "wav": "audio/wav"}
_UNKNOWN = "application/octet-stream"


def content(value: object, place: Place) -> list[ContentPart]:
    """Return the parts of a message's `content`: a string, an array of parts, or null."""
    if value is None:
        return []
    if isinstance(value, str):
        return [ContentPart(text=value)]
    if not isinstance(value, list):
        raise place.invalid("must be a string or an array of parts")
    parts = validation.items(value, place, max_items=MAX_PARTS)
    return [_part(part, place / index) for index, part in enumerate(parts)]


def _part(value: object, place: Place) -> ContentPart:
    part = validation.mapping(value, place)
    kind = validation.text(part.get("type"), place, "type", empty=False)
    body = part.get(kind)
    match kind:
        case "text":
            return ContentPart(text=validation.text(body, place, kind))
        case "image_url":
            return ContentPart(image=_image(body, place / kind))
        case "input_audio":
            return ContentPart(audio=_audio(validation.mapping(body, place, kind), place / kind))
        case "file" if isinstance(body, dict) and body.get("file_data") is not None:
            return ContentPart(file=_file(body, place / kind))
        case _:  # also a file of the provider, which only the provider can find by its id
            return ContentPart(foreign=ForeignPart(type=kind, json=place.text()))


def _image(value: object, place: Place) -> Media:
    image = {"url": value} if isinstance(value, str) else validation.mapping(value, place)
    url = validation.text(image.get("url"), place, "url", empty=False)
    value = image.get("detail")
    detail = _DETAILS.get(value if isinstance(value, str) else "", IMAGE_DETAIL_UNSPECIFIED)
    if url[:8].lower() == "https://":
        return Media(uri=url, image_detail=detail)
    if url[:5].lower() != "data:":
        raise (place / "url").invalid("must begin with https:// or data:")
    media_type, data = _data_url(url, place / "url")
    return Media(data=data, media_type=media_type, image_detail=detail)


def _audio(audio: dict[str, Any], place: Place) -> Media:
    data = _decoded(validation.text(audio.get("data"), place, "data", empty=False), place / "data")
    form = validation.text(audio.get("format"), place, "format", empty=False)
    return Media(data=data, media_type=_AUDIO.get(form, f"audio/{form}"))


def _file(file: dict[str, Any], place: Place) -> Media:
    value = file.get("filename")
    name = "" if value is None else validation.text(value, place, "filename")
    encoded = validation.text(file["file_data"], place, "file_data", empty=False)
    if encoded[:5].lower() == "data:":
        media_type, data = _data_url(encoded, place / "file_data")
    else:
        media_type = mimetypes.guess_type(name)[0] or _UNKNOWN
        data = _decoded(encoded, place / "file_data")
    return Media(data=data, media_type=media_type, filename=name)


def _data_url(url: str, place: Place) -> tuple[str, bytes]:
    """Return the media type and the content of `data:<media type>;base64,<content>`."""
    head, comma, encoded = url.partition(",")
    if not comma or not head.lower().endswith(";base64"):
        raise place.invalid(
            "must be a data URL in base64, for example data:image/png;base64,iVBORw0"
        )
    return head[5:-7].partition(";")[0].lower() or _UNKNOWN, _decoded(encoded, place)


def _decoded(encoded: str, place: Place) -> bytes:
    if len(encoded) > MAX_MEDIA_BYTES * 4 // 3 + 4:
        raise place.invalid(f"must not be larger than {MAX_MEDIA_BYTES} bytes")
    try:
        return base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        raise place.invalid("must be base64") from None
