"""Generated images in an object store, which two replicas of the service use."""

import asyncio
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import grpc
import pytest
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_connector.generation.generated_images import GeneratedImages
from heddle_runtime.errors import NotFoundError, StorageError
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from heddle_runtime.storage.object_store import ObjectStore
from patience import until
from runtime.ports import free_port
from s3_server import BUCKET, S3Server

from connector.gemini import KEY, PNG, answering, content, draw, picture
from connector.provider import provider
from connector.service import events

ANN = Identity("ann@uni.example", "uni")
LIMIT = 1000


@pytest.fixture
def objects(object_server: S3Server) -> ObjectStore:
    return ObjectStore(f"s3://{BUCKET}/{secrets.token_hex(4)}", object_server.options)


@dataclass
class Replica:
    """A process of the service."""

    process: "subprocess.Popen[bytes]"
    stub: "pb_grpc.ConnectorServiceAsyncStub"

    def kill(self) -> None:
        """Kill it, with a signal that it cannot handle."""
        self.process.kill()
        self.process.wait()


@asynccontextmanager
async def replica(parent: Path, name: str, **settings: str) -> AsyncIterator[Replica]:
    """Run a replica with a folder of its own."""
    (folder := parent / name).mkdir()
    address = f"127.0.0.1:{free_port()}"
    own = {"HEDDLE_CONNECTOR_LISTEN": address, **settings}
    with ExitStack() as stack:
        log = stack.enter_context((folder / "log").open("wb"))
        process = subprocess.Popen(  # noqa: ASYNC220 - our own module
            [sys.executable, "-m", "heddle_connector"],
            env={**os.environ, **own},
            cwd=folder,
            stdout=log,
            stderr=log,
        )
        stack.callback(process.wait)
        stack.callback(process.kill)
        async with channel(address) as connection:
            async with asyncio.timeout(60):
                while connection.get_state(True) != grpc.ChannelConnectivity.READY:  # noqa: FBT003 - grpc's own
                    await asyncio.sleep(0.05)
            yield Replica(process, pb_grpc.ConnectorServiceStub(connection))


async def next_second() -> None:
    """Wait until the clock shows another second."""
    second = int(time.time())
    await until(lambda: int(time.time()) > second)


@pytest.mark.exhaustive
async def test_an_image_of_a_replica_that_was_killed_is_served_by_the_other_one(
    tmp_path: Path, object_server: S3Server
) -> None:
    async with provider(answering(content(picture()))) as gemini:
        settings = {
            "HEDDLE_CONNECTOR_BANANA_IMG_BASE_URL": f"{gemini.url}/v1beta",
            "HEDDLE_CONNECTOR_BANANA_IMG_API_KEY": KEY,
            "HEDDLE_ALLOWED_PRIVATE_NETWORKS": "127.0.0.0/8",
            **object_server.settings("replicas"),
        }
        async with (
            replica(tmp_path, "first", **settings) as first,
            replica(tmp_path, "second", **settings) as second,
        ):
            (image,) = [
                event.image for event in await events(first.stub, draw()) if event.HasField("image")
            ]
            first.kill()
            request = pb.GetGeneratedImageRequest(name=image.name)
            response = await second.stub.GetGeneratedImage(request, **new_call_options(10))

    assert response.image == image
    assert image.data == PNG
    assert object_server.keys("replicas") == [f"replicas/images/default/developer/{image.name}"]


@pytest.mark.exhaustive
async def test_the_oldest_images_of_a_user_make_room(objects: ObjectStore) -> None:
    images = GeneratedImages(Path("images"), LIMIT, objects)
    stored = []
    for _ in range(4):
        stored.append(await images.store(ANN, PNG.ljust(300, b"-")))
        await next_second()  # a server tells the second in which an object was stored
    other = await images.store(Identity("bob", "uni"), PNG.ljust(LIMIT, b"-"))

    with pytest.raises(NotFoundError):
        await images.get(ANN, stored[0].name)
    assert [await images.get(ANN, each.name) for each in stored[1:]] == stored[1:]
    assert await images.get(Identity("bob", "uni"), other.name) == other
    with pytest.raises(NotFoundError):
        await images.get(Identity("bob", "uni"), stored[1].name)


async def test_old_images_of_an_organisation_are_deleted(objects: ObjectStore) -> None:
    images = GeneratedImages(Path("images"), LIMIT, objects)
    other = Identity("ann@uni.example", "uni-2")
    old, others = await images.store(ANN, PNG), await images.store(other, PNG)
    begin = time.time()
    await next_second()
    await next_second()  # a server tells the second in which an object was stored
    young = await images.store(ANN, PNG)

    assert await images.expire("uni", 1) == 0
    age = (time.time() - begin - 1) / 86_400
    counts = await asyncio.gather(*(images.expire("uni", age) for _ in range(2)))
    assert max(counts) == 1
    assert await images.names(ANN) == [young.name]
    assert await images.names(other) == [others.name]
    assert old.name != young.name


@pytest.mark.parametrize("user", [ANN.subject, ""])
async def test_images_of_a_person_or_an_organisation_are_removed(
    objects: ObjectStore, user: str
) -> None:
    images = GeneratedImages(Path("images"), LIMIT, objects)
    stored = [await images.store(Identity(name, "uni"), PNG) for name in (ANN.subject, "bob")]
    await images.remove("uni", user)

    assert await images.names(ANN) == []
    assert await images.names(Identity("bob", "uni")) == ([stored[1].name] if user else [])


async def test_an_object_store_that_cannot_be_reached_is_named_to_the_operator() -> None:
    options = {"endpoint": f"http://127.0.0.1:{free_port()}", "allow_http": "true"}
    access = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region": "r"}
    objects = ObjectStore("s3://heddle/uni", options | access)
    images = GeneratedImages(Path("images"), LIMIT, objects)
    begin = time.monotonic()
    with pytest.raises(StorageError) as caught:
        await images.store(ANN, PNG)

    assert time.monotonic() - begin < 30
    assert "s3://heddle/uni" in caught.value.diagnosis
    assert "s3://" not in caught.value.message
