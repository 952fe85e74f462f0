"""The fixtures of the gateway's suite before two replicas of everything."""

import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any
from zlib import crc32

import pytest
import pytest_asyncio
from aiohttp import web
from assistants.postgres import Postgres
from chaos.replicas import two_replicas
from gateway.account_relay import stage
from gateway.library import PEOPLE
from gateway.one_process import one_process_tests
from gateway.replicas import SECRET, WHICH, Installation, remember_rows
from gateway.scripted import serving_twice
from heddle_runtime.http.egress import SETTING
from runtime.examples import PROFILE
from runtime.ports import free_port
from s3_server import S3Server
from web_server import web_server

from benchmarks.retrieval.hashing_embedder import HashingEmbedder
from gateway import replicas

__all__ = ["installation", "pytest_collection_modifyitems", "replica"]

ACROSS_REQUESTS = (
    *("batch", "files", "store", "document", "image", "ingestion", "sharing", "versions"),
    *("sign_in", "oidc", "impersonation", "tokens", "keys", "organizations", "mcp", "audit"),
    *("jobs", "migration", "following", "saving", "questions", "tool_runs", "lifecycle"),
    *("limits", "usage", "fair_turns", "streams", "completions", "disconnects", "sdk"),
)
"""Words in the names of files whose tests need what another request left, which may be at the other
replica: uploads, sessions, jobs, limits, streams. All of them run before replicas."""
ONE_OF = 1 if PROFILE == "nightly" else 10
"""Of the other tests, of which each sends one request or reads what is stored, one of so many runs.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests of one process, and most of those that no second replica can change."""
    left_out = [item for item in items if _is_of_one_process(item) or not _is_chosen(item)]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _is_of_one_process(item: pytest.Item) -> bool:
    return f"{item.path.name}::{item.name.partition('[')[0]}" in one_process_tests()


def _is_chosen(item: pytest.Item) -> bool:
    across = any(word in item.path.stem for word in ACROSS_REQUESTS)
    return across or crc32(item.nodeid.encode()) % ONE_OF == 0


@pytest_asyncio.fixture(scope="session", loop_scope="session", autouse=True)
async def installation(
    tmp_path_factory: pytest.TempPathFactory, vector_server: Postgres, object_server: S3Server
) -> AsyncIterator[Installation]:
    """Two replicas of every service, for all tests."""
    folder = tmp_path_factory.mktemp("replicas")
    async with AsyncExitStack() as exits:
        database = exits.enter_context(vector_server.database())
        server_port = free_port()
        embeddings = await exits.enter_async_context(web_server(_embed))
        pair = await exits.enter_async_context(
            two_replicas(
                folder,
                HEDDLE_ASSISTANTS_DATABASE=database,
                HEDDLE_KNOWLEDGE_STORE_URL=database,
                **object_server.settings("suite"),
                **_settings(embeddings),
                HEDDLE_KNOWLEDGE_YOUTUBE_URL=f"http://127.0.0.1:{server_port}",
                HEDDLE_GATEWAY_API_KEYS=str(folder / "keys.json"),
            )
        )
        keys = {key: owner for name, owner in PEOPLE.items() for key in _keys_of(name)}
        (folder / "keys.json").write_text(json.dumps(keys))
        await pair.start()
        await remember_rows(database)
        behind = await exits.enter_async_context(stage(pair.addresses, SECRET))
        scripted = await exits.enter_async_context(serving_twice(SECRET))
        replicas.INSTALLATION = Installation(folder, pair, database, behind, scripted, server_port)
        exits.callback(replicas.INSTALLATION.stop)
        yield replicas.INSTALLATION


@pytest.fixture(autouse=True, params=WHICH)
def replica(request: pytest.FixtureRequest, installation: Installation) -> None:
    """Where the requests of a test go."""
    installation.which = request.param


def _keys_of(person: str) -> tuple[str, str]:
    return f"key_of_{person}_0123456789", f"key-of-{person}-0123456789"


def _settings(embeddings: str) -> dict[str, str]:
    return {
        "HEDDLE_IDENTITY_SECRET": SECRET,
        "HEDDLE_ASSISTANTS_KEY_PEPPER": SECRET,
        "HEDDLE_ASSISTANTS_ENCRYPTION_KEY": SECRET,
        "HEDDLE_ORCHESTRATOR_ASSISTANT_CACHE_SECONDS": "0",
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_URL": embeddings,
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_MODEL": "hashed-words",
        "HEDDLE_KNOWLEDGE_EMBEDDINGS_DIMENSION": "64",
        "HEDDLE_KNOWLEDGE_WEB_NETWORKS": "127.0.0.1/32",
        "HEDDLE_GATEWAY_DRAIN_WAIT": "0",
        SETTING: "127.0.0.0/8",
        "HEDDLE_GATEWAY_SHUTDOWN_GRACE": "0.5",
    }


async def _embed(request: web.BaseRequest) -> web.StreamResponse:
    """Answer as a server of embeddings."""
    texts: Any = (await request.json())["input"]
    vectors = await HashingEmbedder().embed(texts, "passage")
    data = [
        {"object": "embedding", "index": index, "embedding": vector.tolist()}
        for index, vector in enumerate(vectors)
    ]
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return web.json_response({"object": "list", "data": data, "model": "m", "usage": usage})
