"""The engines, a place of each for a test: a folder, an object store and a database."""

import logging
import secrets
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from threading import Thread

import boto3
import pytest
from assistants.postgres import Postgres
from heddle_knowledge.searching import snapshots
from heddle_knowledge.store import KnowledgeStore, open_store
from knowledge.shared_parser import shared_parser
from knowledge.store.places import Place
from moto.moto_server.werkzeug_app import MotoRequestHandler, create_backend_app
from shared_servers import vector_server
from werkzeug.serving import make_server

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

__all__ = ["embedder", "object_store", "patient", "place", "store", "vector_server"]
# S3 has the same engine as the folder. What differs is tested by test-all.
ENGINES = (
    "folder",
    "folder without memory",
    pytest.param("s3", marks=pytest.mark.exhaustive),
    "postgresql",
)
"""Small collections are searched in memory; where none may be used, the engine searches them."""


@pytest.fixture(scope="session")
def object_store() -> Iterator[str]:
    """The address of a server that speaks S3, with the bucket `knowledge`."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    # S3 alone: a server of all that moto has looks through its modules twice for each request.
    server = make_server(
        "127.0.0.1", 0, create_backend_app("s3"), threaded=True, request_handler=MotoRequestHandler
    )
    serving = Thread(target=server.serve_forever)
    serving.start()
    address = f"http://127.0.0.1:{server.server_port}"
    client = boto3.client(
        "s3",
        endpoint_url=address,
        aws_access_key_id="tester",
        aws_secret_access_key="secret",
        region_name="us-east-1",
    )
    client.create_bucket(Bucket="knowledge")
    yield address
    server.shutdown()
    serving.join()
    server.server_close()


@pytest.fixture(params=ENGINES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    """Where a test's store is, in each engine in turn."""
    if request.param == "folder":
        yield Place(str(tmp_path / "store"))
    elif request.param == "folder without memory":
        yield Place(str(tmp_path / "store"), search_bytes=0)
    elif request.param == "s3":
        address = request.getfixturevalue("object_store")
        yield Place(f"s3://knowledge/{secrets.token_hex(8)}", _options(address))
    else:
        server: Postgres = request.getfixturevalue("vector_server")
        with server.database() as url:
            yield Place(url, {})


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every search wait for the copy in memory, so that tests know what is searched."""
    monkeypatch.setattr(snapshots, "_PATIENCE", 60.0)
    monkeypatch.setattr(snapshots, "_REST", 0.0)


@pytest.fixture
def embedder() -> HashingEmbedder:
    """What counts words."""
    return HashingEmbedder()


@pytest.fixture
async def store(place: Place, embedder: HashingEmbedder) -> AsyncIterator[KnowledgeStore]:
    """A store in each engine in turn, with an empty collection."""
    async with place.store(embedder, quiet_seconds=0.05) as opened:
        await opened.collections.create("docs", title="Documents")
        yield opened


@pytest.fixture
async def folder_store(tmp_path: Path) -> AsyncIterator[KnowledgeStore]:
    """A store in a folder, with an empty collection."""
    async with open_store(
        tmp_path / "store", HashingEmbedder(), quiet_seconds=0.05, parser=shared_parser()
    ) as opened:
        await opened.collections.create("docs", title="Documents")
        yield opened


def _options(address: str) -> dict[str, str]:
    """Return what LanceDB needs to reach the server of the tests."""
    return {
        "aws_access_key_id": "tester",
        "aws_secret_access_key": "secret",
        "region": "us-east-1",
        "endpoint": address,
        "allow_http": "true",
    }
