"""`/v1/files`: OpenAI's way to upload what vector stores then hold."""

from typing import TYPE_CHECKING, Any

from heddle.knowledge.v1 import files_pb2 as pb

from heddle_gateway.http import query_parameters
from heddle_gateway.http.multipart import Form, read_form, wrong
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.openai import pagination
from heddle_gateway.services import ask, every

if TYPE_CHECKING:
    from heddle_gateway.state import State

TIMEOUT = 60.0
PURPOSES = ("assistants", "user_data")
_PAGE = 1_000
_SAFE = (
    (b"content-type", b"application/octet-stream"),
    (b"content-disposition", b"attachment"),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"private, no-store"),
)


async def create(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `POST /v1/files`."""
    form = await read_form(state, exchange)
    if form.fields.get("purpose") not in PURPOSES:
        raise wrong("purpose", f"must be one of {', '.join(PURPOSES)}")
    expiry = [name for name in form.fields if name.startswith("expires_after")]
    if expiry:
        raise wrong(expiry[0], "is not possible here: files stay until they are deleted")
    return RawResponse.json(view(await kept(state, form, form.fields["purpose"])))


async def kept(state: "State", form: Form, purpose: str) -> pb.File:
    """Keep the file of a form and return it.

    Raises:
        HeddleError: It cannot be kept.
    """
    request = pb.CreateFileRequest(
        filename=form.filename, purpose=purpose, media_type=form.media_type, data=form.data
    )
    return (await ask(state.services.files.CreateFile, request, TIMEOUT)).file


async def listing(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/files`."""
    purpose = query_parameters.choice(exchange, "purpose", PURPOSES)
    request = pb.ListFilesRequest(page_size=_PAGE)
    found = [
        view(each)
        async for page in every(state.services.files.ListFiles, request, TIMEOUT)
        for each in page.files
        if purpose in ("", each.purpose)
    ]
    return RawResponse.json(pagination.page(exchange, found, default=1_000, most=10_000))


async def get(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/files/{id}`."""
    request = pb.GetFileRequest(id=exchange.parameter)
    return RawResponse.json(view((await ask(state.services.files.GetFile, request, TIMEOUT)).file))


async def content(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `GET /v1/files/{id}/content`."""
    request = pb.GetFileContentRequest(id=exchange.parameter)
    found = await ask(state.services.files.GetFileContent, request, TIMEOUT)
    return RawResponse(200, found.data, _SAFE)


async def delete(state: "State", exchange: RawRequest) -> RawResponse:
    """Answer `DELETE /v1/files/{id}`."""
    request = pb.DeleteFileRequest(id=exchange.parameter)
    await ask(state.services.files.DeleteFile, request, TIMEOUT)
    return RawResponse.json({"id": exchange.parameter, "object": "file", "deleted": True})


def view(file: pb.File) -> dict[str, Any]:
    """Return a file as OpenAI's clients know it."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.size,
        "created_at": file.create_time.seconds,
        "expires_at": None,
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
    }
