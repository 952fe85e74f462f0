"""`/organizations/{slug}/people`: what Heddle stores of a person."""

import zipfile
from collections.abc import AsyncIterable, Iterator
from tempfile import SpooledTemporaryFile
from typing import Annotated, Literal

import grpc
from heddle.person.v1 import person_pb2 as pb
from heddle_runtime.errors import from_rpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.people import TREATMENTS, steps, summed
from pydantic import Field
from starlette.responses import Response, StreamingResponse

from heddle_gateway.http.models import Model, StrictModel, Text
from heddle_gateway.login.passwords import Email
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

routes = Routes("organizations")
_SECONDS = 600.0
"""The deadline of an export or an erasure: the files of a large collection are written anew."""
_IN_MEMORY = 8 * 1024**2
_PART = 256 * 1024


class PersonalDataPlace(Model):
    """A place where Heddle stores data of people."""

    service: Literal["assistants", "knowledge", "connector", "tools"]
    place: str = Field(description="The name of a table or a folder.")
    count: int = Field(description="How many things of the person are there, or were.")
    treatment: Literal["deleted", "deleted or handed over", "pseudonymised"] = Field(
        description="What erasing does with them."
    )


class PersonalData(Model):
    """What Heddle stores of a person, or what it has erased."""

    email: str
    organization: str
    places: list[PersonalDataPlace]


class Erasure(StrictModel):
    """How the data of a person is erased."""

    shared_things: Literal["delete", "hand_over"] = Field(
        description="What happens to assistants, rubrics and shared collections. Private "
        "collections, uploads, pictures and workspaces are deleted in any case."
    )
    new_owner: Annotated[
        Text, Field(default="", description="The user who gets them, with `hand_over`.")
    ]


@routes.get("/organizations/{slug}/people/{email}", errors=(400, 404))
async def list_data(api: Call, slug: Slug, email: Email) -> PersonalData:
    """Count what Heddle stores of a person, place by place. Only for administrators.

    The person need not be a user any more.
    """
    request = pb.ListPersonalDataRequest(email=email, organization=slug)
    places = [
        _place(service, each)
        for service, stub in api.services.persons.items()
        for each in (await call(stub.ListPersonalData, request)).places
    ]
    return PersonalData(email=email, organization=slug, places=places)


@routes.get(
    "/organizations/{slug}/people/{email}/export",
    errors=(400, 404),
    content=("application/zip",),
)
async def export(api: Call, slug: Slug, email: Email) -> Response:
    """Get everything that Heddle stores of a person as a ZIP file. Only for administrators."""
    request = pb.ExportPersonalDataRequest(email=email, organization=slug)
    archive = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - closed with the response
    try:
        await _write(archive, api, request)
    except BaseException:
        archive.close()
        raise
    api.save_as("personal-data.zip")
    return StreamingResponse(_parts(archive), media_type="application/zip")


@routes.post("/organizations/{slug}/people/{email}/erasure", errors=(400, 404, 409))
async def erase(api: Call, slug: Slug, email: Email, body: Erasure) -> PersonalData:
    """Erase what Heddle stores of a person in an organisation. Only for administrators.

    First the person loses access, then everything is erased. It can be repeated, for instance
    after an error; what is erased already counts as nothing.
    """
    chosen = pb.SHARED_THINGS_DELETE
    if body.shared_things == "hand_over":
        chosen = pb.SHARED_THINGS_HAND_OVER
    request = pb.ErasePersonalDataRequest(
        email=email, organization=slug, shared_things=chosen, new_owner=body.new_owner
    )
    stubs = api.services.persons
    rows = [
        (service, each)
        for service, step in steps(request, stubs)
        for each in (await call(stubs[service].ErasePersonalData, step, _SECONDS)).places
    ]
    places = [_place(*each) for each in summed(rows)]
    return PersonalData(email=email, organization=slug, places=places)


def _place(service: str, each: pb.Place) -> PersonalDataPlace:
    return PersonalDataPlace.model_validate(
        {
            "service": service,
            "place": each.name,
            "count": each.count,
            "treatment": TREATMENTS[each.treatment],
        }
    )


async def _write(
    archive: "SpooledTemporaryFile[bytes]", api: Call, request: pb.ExportPersonalDataRequest
) -> None:
    """Write the files of all services into an archive, one folder for each service."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as written:
        for service, stub in api.services.persons.items():
            calls = stub.ExportPersonalData(request, **new_call_options(_SECONDS))
            try:
                await _write_files(written, service, calls)
            except grpc.aio.AioRpcError as error:
                raise from_rpc(error) from error


async def _write_files(
    archive: zipfile.ZipFile,
    service: str,
    parts: AsyncIterable[pb.ExportPersonalDataResponse],
) -> None:
    file, path = None, ""
    try:
        async for part in parts:
            if file is None or part.path != path:
                if file is not None:
                    file.close()
                path = part.path
                file = archive.open(f"{service}/{path}", "w")
            file.write(part.data)
    finally:
        if file is not None:
            file.close()


def _parts(archive: "SpooledTemporaryFile[bytes]") -> Iterator[bytes]:
    with archive:
        archive.seek(0)
        while part := archive.read(_PART):
            yield part
