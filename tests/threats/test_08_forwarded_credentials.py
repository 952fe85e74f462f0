"""Threat 8: a key goes to a server that it is not for.

For redirects of other servers, see `tests/tools_service/test_web_search.py` and
`test_mcp_strangers.py` there; for members of the request, `tests/gateway/test_translate.py`.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from aiohttp import web
from heddle_knowledge.store import open_store
from heddle_runtime.errors import ToolFailedError
from integration.browser import browser
from integration.provider import providing
from integration.whole import whole, write_assistant
from knowledge.kb_server import kb_server
from runtime.examples import sampled
from tools_service.knowledge_bases.asking import ASKED, serving_with
from web_server import web_server

from benchmarks.retrieval.hashing_embedder import HashingEmbedder

KEY = "sk-of-the-operator-0123456789"
CLIENT_KEY = "sk-of-the-client-0123456789"
MODEL = "model: {connector: openai, model: m}\n"
QUESTION = {"model": "lamb_assistant.1", "messages": [{"role": "user", "content": "?"}]}


ADDRESSES = ("api_base", "base_url", "azure_endpoint")
KEYS = ("api_key", "azure_ad_token", "litellm_credential_name")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_names_no_other_server_and_no_other_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    write_assistant(tmp_path, "1", MODEL)
    async with providing() as provider, providing() as thief:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", provider.url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", KEY)
        server = {
            **dict.fromkeys(ADDRESSES, thief.url),
            **dict.fromkeys(KEYS, CLIENT_KEY),
            "extra_headers": {"authorization": f"Bearer {CLIENT_KEY}"},
        }
        nested = dict.fromkeys(("extra_body", "extra_query", "user_config"), server)
        lists = ("model_list", "fallbacks", "content_policy_fallbacks", "context_window_fallbacks")
        body = {
            **QUESTION,
            **server,
            **nested,
            **{name: [server] for name in lists},
            "stream": stream,
        }
        async with whole(tmp_path) as heddle, browser(heddle.url) as client:
            response = await client.post("/v1/chat/completions", json=body | {"top_k": 3})

    assert response.status_code == 200
    assert thief.keys == []
    assert provider.keys == [f"Bearer {KEY}"]
    [received] = provider.bodies
    assert received["top_k"] == 3
    assert CLIENT_KEY not in str(received)
    assert thief.url not in str(received)


@asynccontextmanager
async def redirecting(url: str, status: int) -> AsyncGenerator[str]:
    """Yield the URL of a provider that redirects every request to another place."""

    async def redirect(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"location": f"{url}/chat/completions"})

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", redirect)
    async with web_server(application) as address:
        yield address


@pytest.mark.parametrize("status", sampled([302, 307, 308], 1))
async def test_a_key_does_not_follow_a_redirect_of_a_provider(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    write_assistant(tmp_path, "1", MODEL)
    async with providing() as thief, redirecting(thief.url, status) as url:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", url)
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", KEY)
        async with whole(tmp_path) as heddle, browser(heddle.url) as client:
            for stream in (False, True):
                body = {**QUESTION, "stream": stream}
                response = await client.post("/v1/chat/completions", json=body)
                assert '"error"' in response.text
                assert KEY not in response.text

    assert thief.keys == []


async def test_the_token_of_a_knowledge_base_server_does_not_follow_a_redirect(
    tmp_path: Path,
) -> None:
    async with (
        open_store(tmp_path / "store", HashingEmbedder()) as store,
        kb_server() as server,
        kb_server() as thief,
        serving_with(store, server) as client,
    ):
        server.answers = {"1": f"{thief.url}/collections/1/query"}
        with pytest.raises(ToolFailedError, match=r"KB configuration error: .* redirects \(307\)"):
            await client.run("simple_rag", {"collections": ["1"]}, ASKED)

        assert server.paths
        assert thief.paths == []
