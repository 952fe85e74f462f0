"""Reading forms with files, as browsers and OpenAI's clients upload them."""

from collections.abc import AsyncGenerator, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from heddle_runtime.errors import InvalidRequestError, Violation
from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from heddle_gateway.http.body import read_body
from heddle_gateway.http.raw import RawRequest

if TYPE_CHECKING:
    from heddle_gateway.state import State

_MOST_FIELDS = 32


@dataclass(frozen=True, slots=True)
class Form:
    """A form with one file."""

    fields: dict[str, str]
    filename: str
    media_type: str
    """As the client says; empty if it does not know."""
    data: bytes


async def read_form(state: "State", exchange: RawRequest) -> Form:
    """Return the fields of a `multipart/form-data` body and its file, the field `file`.

    Raises:
        RejectedRequestError: The body is too large or comes too slowly.
        InvalidRequestError: It is no such form, or has no file.
        ClientGoneError: The client closed the connection.
    """
    settings = state.settings
    body = await read_body(exchange, settings.max_body_bytes, settings.body_timeout)
    kind = exchange.header("content-type")
    if not kind.lower().startswith("multipart/form-data"):
        raise InvalidRequestError("The body must be multipart/form-data, with the field 'file'.")

    async def whole() -> AsyncGenerator[bytes]:
        yield body

    parser = MultiPartParser(
        Headers({"content-type": kind}),
        whole(),
        max_files=1,
        max_fields=_MOST_FIELDS,
    )
    try:
        form = await parser.parse()
    except (MultiPartException, KeyError, ValueError) as error:
        raise InvalidRequestError(f"The form cannot be read: {error}.") from None
    try:
        file = form.get("file")
        if not isinstance(file, UploadFile) or not file.filename:
            raise wrong("file", "must be a file with a name")
        data = await file.read()
        if not data:
            raise wrong("file", "must not be empty")
        texts = {name: value for name, value in form.items() if isinstance(value, str)}
        _check([file.filename, *texts, *texts.values()])
        return Form(texts, file.filename, _media_type(file), data)
    finally:
        await form.close()


def wrong(name: str, what: str) -> InvalidRequestError:
    """Return the error that says what is wrong with a field."""
    return InvalidRequestError(f"The field {name!r} {what}.", [Violation(name, what)])


def _check(texts: Iterable[str]) -> None:
    """Refuse halves of surrogate pairs, which some charsets of a form can write."""
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InvalidRequestError("The form has a text that is not Unicode.") from None


def _media_type(file: UploadFile) -> str:
    """Return the type of a file; what stands for any bytes says nothing."""
    told = (file.content_type or "").partition(";")[0].strip().lower()
    return "" if told == "application/octet-stream" else told
