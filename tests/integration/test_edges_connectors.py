"""Secrets of connectors and connectors of organisations, with a process for each service.

Each row is asked for streamed and whole.
"""

import asyncio
import json
import shlex
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import pytest_asyncio
from aiohttp import web
from connector.anthropic_api import VERSION
from heddle_runtime.http.egress import SETTING
from integration import commands
from integration.browser import browser
from integration.processes import Processes, processes
from integration.whole import write_assistant
from web_server import web_server

pytestmark = pytest.mark.asyncio(loop_scope="module")
SECRET = "blue-sheep-of-the-hill"
CONNECTOR = '''
from heddle_connector.sdk import Connector, Model, ProviderRefusedError, Settings, connector
from pydantic import Field, SecretStr

class WeaverSettings(Settings, env_prefix="HEDDLE_CONNECTOR_WEAVER_"):
    secret: SecretStr = Field(description="What opens the server.")

@connector("weaver", settings=WeaverSettings)
class Weaver(Connector[WeaverSettings]):
    """Asks a server of the operator."""

    async def models(self, seconds):
        return [Model("w")]

    async def generate(self, call):
        yield []
        shown = self.settings.secret.get_secret_value()
        raise ProviderRefusedError(f"x-weaver: {shown} is not known")
'''
ASSISTANTS = {
    "1": "model: {connector: anthropic, model: claude-sonnet-5-5}\n",
    "2": "model: {connector: weaver, model: w}\n",
}
KINDS = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


async def refuse(request: web.Request) -> web.Response:
    """Answer as Anthropic does, and repeat the key."""
    assert request.headers["anthropic-version"] == VERSION
    message = f"invalid x-api-key {request.headers['x-api-key']}"
    error = {"type": "invalid_request_error", "message": message}
    return web.json_response({"type": "error", "error": error}, status=400)


@dataclass
class Heddle:
    """All services, and the key of a user of an organisation."""

    services: Processes
    key: str

    async def ask(self, assistant: str, *, stream: bool, key: str = "") -> httpx.Response:
        body = {
            "model": assistant,
            "messages": [{"role": "user", "content": "What is a shed?"}],
            "stream": stream,
        }
        async with browser(self.services.url, key, timeout=60) as client:
            return await client.post("/v1/chat/completions", json=body)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Heddle]:
    folder = tmp_path_factory.mktemp("connectors")
    (folder / "plugins").mkdir()
    (folder / "plugins" / "weaver.py").write_text(CONNECTOR)
    for identifier, document in ASSISTANTS.items():
        write_assistant(folder, identifier, document)
    application = web.Application()
    application.router.add_post("/v1/messages", refuse)
    async with AsyncExitStack() as exits:
        url = await exits.enter_async_context(web_server(application))
        settings = {
            "HEDDLE_CONNECTOR_PLUGINS_DIR": str(folder / "plugins"),
            "HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL": url,
            "HEDDLE_CONNECTOR_ANTHROPIC_API_KEY": SECRET,
            "HEDDLE_CONNECTOR_WEAVER_SECRET": SECRET,
            "HEDDLE_CONNECTOR_SHARE_PROVIDERS": "true",
            SETTING: "127.0.0.0/8",
        }
        services = await exits.enter_async_context(processes(folder, **settings))
        names = {"HEDDLE_IDENTITY_SECRET": "", **services.environment}
        printed = [
            await asyncio.to_thread(commands.heddle, *shlex.split(command), environment=names)
            for command in (
                "organizations set uni --name uni",
                "users set a@b.example --organization uni --role creator",
                "keys create --name uni --organization uni --user a@b.example",
            )
        ]
        yield Heddle(services, printed[-1].stdout.splitlines()[0])


@KINDS
@pytest.mark.parametrize("assistant", ASSISTANTS)
async def test_a_secret_that_a_provider_repeats_is_shown_to_nobody(
    heddle: Heddle, assistant: str, *, stream: bool
) -> None:
    response = await heddle.ask(f"lamb_assistant.{assistant}", stream=stream)

    assert "[redacted]" in response.text
    assert SECRET not in json.dumps([response.text, dict(response.headers)])
    for module in ("heddle_connector", "heddle_orchestrator", "heddle_gateway"):
        assert SECRET not in heddle.services.log(module)


@KINDS
async def test_a_connector_that_declares_nothing_is_not_for_organisations(
    heddle: Heddle, *, stream: bool
) -> None:
    async with browser(heddle.services.url, heddle.key) as client:
        listed: dict[str, Any] = (await client.get("/lamb/v1/completions/list")).json()
        assert "weaver" not in listed["connectors"]
        document = {"name": f"own_{stream}", "model": {"connector": "weaver", "model": "w"}}
        created = await client.post("/assistants/import", json=document)
    response = await heddle.ask(
        f"lamb_assistant.{created.json()['id']}", stream=stream, key=heddle.key
    )
    assert not response.is_success
    assert "x-weaver" not in response.text
