"""Pictures are kept for the person who asked, and for nobody else."""

import asyncio
import os
import time
from pathlib import Path

import grpc
import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.app import ConnectorSettings
from heddle_connector.generation.generated_images import Pictures
from heddle_runtime.call_metadata import AUTHORIZATION
from heddle_runtime.errors import NotFoundError, ProviderGarbledError, from_rpc
from heddle_runtime.identity import Identity, TokenSigner
from pydantic import ValidationError

from connector.gemini import GIF, JPEG, PNG, WEBP
from connector.service import service

ANN = Identity("ann@uni.example", "uni")
SECRET = "a-secret-of-at-least-32-characters"
LIMIT = 1000


@pytest.fixture
def pictures(tmp_path: Path) -> Pictures:
    return Pictures(tmp_path / "kept", LIMIT)


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
    pictures: Pictures, data: bytes, kind: str, ending: str
) -> None:
    kept = await pictures.keep(ANN, data)
    assert await pictures.get(ANN, kept.name) == kept
    assert (kept.data, kept.media_type) == (data, kind)
    assert kept.name.endswith(f".{ending}")


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", b"\x89PNG", b"RIFF....WAVE", b"GIF90a", b"x" + PNG]
)
async def test_nothing_else_is_kept(pictures: Pictures, data: bytes) -> None:
    with pytest.raises(ProviderGarbledError):
        await pictures.keep(ANN, data)
    assert not pictures.root.exists()


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
    pictures: Pictures, other: Identity
) -> None:
    kept = await pictures.keep(ANN, PNG)
    with pytest.raises(NotFoundError) as foreign:
        await pictures.get(other, kept.name)
    with pytest.raises(NotFoundError) as missing:
        await pictures.get(ANN, f"{'0' * 32}.png")
    assert foreign.value.message == missing.value.message


@pytest.mark.parametrize(
    "subject", ["", ".", "..", "../bob", "a/b", "ä" * 300, "A" * 300, "\ud800"]
)
async def test_no_name_of_a_person_leaves_the_folder_of_the_organisation(
    pictures: Pictures, subject: str
) -> None:
    person = Identity(subject, "uni")
    kept = await pictures.keep(person, PNG)
    assert await pictures.get(person, kept.name) == kept
    [file] = (pictures.root / "uni").rglob("*.png")
    assert file.parent.parent == pictures.root / "uni"


@pytest.mark.parametrize("name", ["", "..", "../secret.png", "secret.png", f"{'a' * 32}.svg"])
async def test_names_that_nobody_gave_lead_nowhere(pictures: Pictures, name: str) -> None:
    await pictures.keep(ANN, PNG)
    (pictures.root / "uni" / "secret.png").write_bytes(PNG)
    with pytest.raises(NotFoundError):
        await pictures.get(ANN, name)


async def test_the_oldest_make_room(pictures: Pictures) -> None:
    kept = []
    for number in range(4):
        picture = await pictures.keep(ANN, PNG.ljust(300, b"-"))
        os.utime(pictures.root / "uni" / ANN.subject / picture.name, (number, number))
        kept.append(picture)
    others = await pictures.keep(Identity("bob", "uni"), PNG.ljust(LIMIT, b"-"))
    with pytest.raises(NotFoundError):
        await pictures.get(ANN, kept[0].name)
    assert [await pictures.get(ANN, each.name) for each in kept[1:]] == kept[1:]
    assert await pictures.get(Identity("bob", "uni"), others.name) == others


async def test_pictures_that_come_at_once_are_all_kept(pictures: Pictures) -> None:
    kept = await asyncio.gather(*(pictures.keep(ANN, PNG) for _ in range(20)))
    assert [await pictures.get(ANN, each.name) for each in kept] == kept


async def test_what_a_killed_process_left_is_no_picture_and_goes_away(pictures: Pictures) -> None:
    await pictures.keep(ANN, PNG)
    folder = pictures.root / "uni" / ANN.subject
    abandoned, begun = folder / f"{'a' * 32}.png.new", folder / f"{'b' * 32}.png.new"
    for path in (abandoned, begun):
        path.write_bytes(PNG[:10])
    yesterday = time.time() - 86_400
    os.utime(abandoned, (yesterday, yesterday))
    with pytest.raises(NotFoundError):
        await pictures.get(ANN, abandoned.name)
    await pictures.keep(ANN, PNG)
    assert (abandoned.exists(), begun.exists()) == (False, True)


async def test_the_service_gives_a_picture_to_its_owners_token_only(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    kept = await Pictures(folder, LIMIT).keep(ANN, PNG)
    signer = TokenSigner(SECRET)
    async with service(pictures_dir=folder, HEDDLE_IDENTITY_SECRET=SECRET) as stub:

        async def get(person: Identity) -> bytes:
            token = ((AUTHORIZATION, f"Bearer {signer.token(person)}"),)
            request = pb.GetPictureRequest(name=kept.name)
            return (await stub.GetPicture(request, timeout=5, metadata=token)).picture.data

        assert await get(ANN) == PNG
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await get(Identity("bob@uni.example", "uni"))
    assert isinstance(from_rpc(caught.value), NotFoundError)


def test_a_limit_that_one_answer_can_exceed_is_refused() -> None:
    with pytest.raises(ValidationError):
        ConnectorSettings(pictures_per_person=1024)
