"""`/v1/files`: files that callers upload, for vector stores and batches."""

from typing import Annotated, Literal

from heddle.knowledge.v1 import files_pb2 as pb
from pydantic import ConfigDict, Field
from starlette.responses import Response

from heddle_gateway.http.body import FormFile, UploadedFile
from heddle_gateway.http.error_responses import invalid
from heddle_gateway.http.models import Deleted, Model, Seconds, StrictModel
from heddle_gateway.openai.pagination import Page, PageQuery, select
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call, items
from heddle_gateway.state import State

_HEADERS = {
    "content-disposition": "attachment",
    "x-content-type-options": "nosniff",
    "cache-control": "private, no-store",
}
Purpose = Literal["assistants", "user_data", "batch"]
FileId = Annotated[str, Field(description="The file's identifier.", pattern="^file-[0-9a-f]{32}$")]
routes = Routes("files")


class File(StrictModel):
    """A file."""

    id: str
    object: Literal["file"] = "file"
    bytes: int
    created_at: Seconds
    expires_at: None = None
    filename: str
    purpose: str
    status: Literal["processed"] = "processed"


class FilePage(Page):
    """A page of files."""

    data: list[File]


class FileQuery(PageQuery):
    """The query of the list of files."""

    purpose: Purpose | Literal["batch_output"] | None = Field(
        default=None, description="Only files for this purpose."
    )
    limit: int = Field(default=1_000, ge=1, le=10_000, description="The maximum number of files.")


class FileUpload(Model):
    """A file and its purpose."""

    file: FormFile
    purpose: Purpose
    upload_key: str = Field(
        default="",
        max_length=2_048,
        description="An extension of OpenAI's form: a key of the client's for this upload. The "
        "same key with the same content returns the file of the first upload, so an upload "
        "whose response was lost can be repeated.",
    )

    model_config = ConfigDict(extra="allow")


class DeletedFile(Deleted):
    """The file is deleted."""

    object: Literal["file"] = "file"


@routes.get("/v1/files", errors=(400,))
async def list_files(api: Call, query: FileQuery) -> FilePage:
    """List the caller's files, the newest first."""
    stored = await items(api.services.files.ListFiles, pb.ListFilesRequest(), "files")
    files = [_view(each) for each in stored if query.purpose in (None, each.purpose)]
    data, has_more = select(query, files)
    return FilePage(data=data, has_more=has_more)


@routes.post("/v1/files", errors=(409,))
async def upload(api: Call, form: FileUpload) -> File:
    """Upload a file.

    Only the caller can use it. It stays until it is deleted. A file has at most 30 MiB, and no more
    than the largest body of the gateway; a person has at most 5,000 files and 5 GiB.
    """
    expiry = [name for name in form.model_extra or {} if name.startswith("expires_after")]
    if expiry:
        raise invalid(expiry[0], "is not supported: files stay until they are deleted", "The field")
    return _view(await store(api.state, form.file, form.purpose, form.upload_key))


async def store(state: State, file: UploadedFile, purpose: str, upload_key: str = "") -> pb.File:
    """Store an uploaded file and return it.

    Raises:
        HeddleError: It cannot be stored.
    """
    request = pb.CreateFileRequest(
        filename=file.filename,
        purpose=purpose,
        media_type=file.media_type,
        data=file.data,
        upload_key=upload_key,
    )
    return (await call(state.services.files.CreateFile, request)).file


@routes.get("/v1/files/{id}", errors=(400, 404))
async def get(api: Call, id_: FileId) -> File:
    """Get a file's description."""
    return _view((await call(api.services.files.GetFile, pb.GetFileRequest(id=id_))).file)


@routes.get("/v1/files/{id}/content", content=("application/octet-stream",), errors=(400, 404))
async def content(api: Call, id_: FileId) -> Response:
    """Get a file's content."""
    request = pb.GetFileContentRequest(id=id_)
    response = await call(api.services.files.GetFileContent, request)
    return download(response.data)


def download(data: bytes) -> Response:
    """Return the content of a file, which browsers save instead of showing it."""
    return Response(data, headers=_HEADERS, media_type="application/octet-stream")


@routes.delete("/v1/files/{id}", errors=(400, 404))
async def delete(api: Call, id_: FileId) -> DeletedFile:
    """Delete a file, and remove it from all vector stores."""
    await call(api.services.files.DeleteFile, pb.DeleteFileRequest(id=id_))
    return DeletedFile(id=id_)


def _view(file: pb.File) -> File:
    return File.of(file, bytes=file.size, created_at=file.create_time.seconds)
