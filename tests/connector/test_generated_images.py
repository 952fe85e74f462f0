"""Generated images are stored for the user of the call, and for nobody else."""

import asyncio
import os
import time
from pathlib import Path

import grpc
import pytest
from assistants.serving import ADMIN, serving
from heddle.account.v1 import account_pb2
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.app import ConnectorSettings
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_connector.generation.people import delete_old_images
from heddle_runtime.errors import NotFoundError, ProviderGarbledError, from_rpc
from heddle_runtime.identity.call_metadata import Caller, calling_as, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.service_credentials import ServiceCredentials
from pydantic import ValidationError

from connector.gemini import GIF, JPEG, PNG, WEBP
from connector.service import service

ANN = Identity("ann@uni.example", "uni")
SECRET = "a-secret-of-at-least-32-characters"
LIMIT = 1000


@pytest.fixture
def images(tmp_path: Path) -> GeneratedImages:
    return GeneratedImages(tmp_path / "images", LIMIT)


@pytest.mark.parametrize(
    ("data", "kind", "ending"),
    [
        (PNG, "image/png", "png"),
        (JPEG, "image/jpeg", "jpg"),
        (WEBP, "image/webp", "webp"),
        (GIF, "image/gif", "gif"),
    ],
)
async def test_what_is_kept_comes_back_with_the_type_of_its_first_bytes(
    images: GeneratedImages, data: bytes, kind: str, ending: str
) -> None:
    kept = await images.store(ANN, data)
    assert await images.get(ANN, kept.name) == kept
    assert (kept.data, kept.media_type) == (data, kind)
    assert kept.name.endswith(f".{ending}")


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", b"\x89PNG", b"RIFF....WAVE", b"GIF90a", b"x" + PNG]
)
async def test_nothing_else_is_kept(images: GeneratedImages, data: bytes) -> None:
    with pytest.raises(ProviderGarbledError):
        await images.store(ANN, data)
    assert not images.root.exists()


@pytest.mark.parametrize(
    "other",
    [
        Identity("ann@uni.example", "school"),
        Identity("ann@uni.example"),
        Identity("bob@uni.example", "uni"),
        Identity("ANN@uni.example", "uni"),
        Identity("operator", scopes=("admin",)),
        Identity("boss", "uni", ("organization_admin",)),
    ],
)
async def test_another_persons_picture_is_answered_like_a_missing_one(
    images: GeneratedImages, other: Identity
) -> None:
    kept = await images.store(ANN, PNG)
    with pytest.raises(NotFoundError) as foreign:
        await images.get(other, kept.name)
    with pytest.raises(NotFoundError) as missing:
        await images.get(ANN, f"{'0' * 32}.png")
    assert foreign.value.message == missing.value.message


@pytest.mark.parametrize(
    "subject", ["", ".", "..", "../bob", "a/b", "ä" * 300, "A" * 300, "\ud800"]
)
async def test_no_name_of_a_person_leaves_the_folder_of_the_organisation(
    images: GeneratedImages, subject: str
) -> None:
    person = Identity(subject, "uni")
    kept = await images.store(person, PNG)
    assert await images.get(person, kept.name) == kept
    [file] = (images.root / "uni").rglob("*.png")
    assert file.parent.parent == images.root / "uni"


@pytest.mark.parametrize("name", ["", "..", "../secret.png", "secret.png", f"{'a' * 32}.svg"])
async def test_names_that_nobody_gave_lead_nowhere(images: GeneratedImages, name: str) -> None:
    await images.store(ANN, PNG)
    (images.root / "uni" / "secret.png").write_bytes(PNG)
    with pytest.raises(NotFoundError):
        await images.get(ANN, name)


async def test_the_oldest_make_room(images: GeneratedImages) -> None:
    kept = []
    for number in range(4):
        picture = await images.store(ANN, PNG.ljust(300, b"-"))
        os.utime(images.root / "uni" / ANN.subject / picture.name, (number, number))
        kept.append(picture)
    others = await images.store(Identity("bob", "uni"), PNG.ljust(LIMIT, b"-"))
    with pytest.raises(NotFoundError):
        await images.get(ANN, kept[0].name)
    assert [await images.get(ANN, each.name) for each in kept[1:]] == kept[1:]
    assert await images.get(Identity("bob", "uni"), others.name) == others


async def test_pictures_that_come_at_once_are_all_kept(images: GeneratedImages) -> None:
    kept = await asyncio.gather(*(images.store(ANN, PNG) for _ in range(20)))
    assert [await images.get(ANN, each.name) for each in kept] == kept


async def test_temporary_files_of_a_killed_process_are_deleted(
    images: GeneratedImages,
) -> None:
    await images.store(ANN, PNG)
    folder = images.root / "uni" / ANN.subject
    abandoned, begun = folder / f".{'a' * 32}.png.1", folder / f".{'b' * 32}.png.2"
    for path in (abandoned, begun):
        path.write_bytes(PNG[:10])
    yesterday = time.time() - 86_400
    os.utime(abandoned, (yesterday, yesterday))
    with pytest.raises(NotFoundError):
        await images.get(ANN, abandoned.name)
    await images.store(ANN, PNG)
    assert (abandoned.exists(), begun.exists()) == (False, True)


async def test_the_service_gives_a_picture_to_its_owners_token_only(tmp_path: Path) -> None:
    folder = tmp_path / "images"
    kept = await GeneratedImages(folder, LIMIT).store(ANN, PNG)
    async with service(images_dir=folder, HEDDLE_IDENTITY_SECRET=SECRET) as stub:

        async def get(person: Identity) -> bytes:
            request = pb.GetGeneratedImageRequest(name=kept.name)
            with calling_as(Caller("", person)):
                response = await stub.GetGeneratedImage(request, **new_call_options(5))
            return response.image.data

        assert await get(ANN) == PNG
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await get(Identity("bob@uni.example", "uni"))
    assert isinstance(from_rpc(caught.value), NotFoundError)


def test_a_limit_that_one_answer_can_exceed_is_refused() -> None:
    with pytest.raises(ValidationError):
        ConnectorSettings(images_quota_bytes=1024)


async def test_old_images_of_an_organisation_are_deleted(images: GeneratedImages) -> None:
    other = Identity("ann@uni.example", "college")
    stored = [await images.store(user, PNG) for user in (ANN, ANN, other)]
    for user, image in zip((ANN, other), stored[1:], strict=True):
        (path,) = images.root.glob(f"{user.organization}/*/{image.name}")
        os.utime(path, (time.time() - 2 * 86_400,) * 2)

    assert await images.expire("uni", 3) == 0
    assert sum(await asyncio.gather(*(images.expire("uni", 1) for _ in range(3)))) == 1
    assert await images.expire("nowhere", 1) == 0
    assert await images.names(ANN) == [stored[0].name]
    assert await images.names(other) == [stored[2].name]


async def test_the_service_deletes_images_as_the_account_service_says(
    images: GeneratedImages, tmp_path: Path
) -> None:
    image = await images.store(ANN, PNG)
    (path,) = images.root.glob(f"*/*/{image.name}")
    os.utime(path, (0, 0))
    async with serving(f"sqlite:///{tmp_path}/heddle.db") as service:
        admin = service.as_(ADMIN)
        settings = '{"retention": {"images_days": 30}}'
        organization = account_pb2.Organization(slug="uni", settings_json=settings)
        request = account_pb2.PutOrganizationRequest(organization=organization)
        await admin.ask(admin.accounts.PutOrganization, request)
        credentials = ServiceCredentials("heddle-connector")
        await delete_old_images(images, service.connection, credentials)
    assert await images.names(ANN) == []
