"""Threat 12: a key that a provider sends back reaches an answer, an error or a log.

For what is redacted, see `tests/runtime/test_redaction.py` and `python -m benchmarks.redaction`;
for traces and statuses, `tests/orchestrator/test_completion_traces.py`.
"""

import json
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import httpx
from aiohttp import web
from integration.browser import browser
from integration.processes import GATEWAY, Processes, processes
from integration.whole import write_assistant
from web_server import web_server

CONNECTOR = "heddle_connector"
KEY = "magpie+river/99 of Lagos"  # in no provider's format
FORMS = {
    "as it is": KEY,
    "JSON": json.dumps({"x-api-key": KEY}),
    "URL": f"https://provider.example/v1?k={quote(KEY, safe='')}",
    "Base64": b64encode(f"user:{KEY}".encode()).decode(),
}
SOURCE = '''
"""A connector of somebody else."""

import logging
import warnings

import msgspec
import structlog
from pydantic import Field, SecretStr

from heddle_connector.sdk import (
    BaseUrl, Connector, Done, Model, Request, Settings, TextDelta, connector, error_in_body
)


class EchoSettings(Settings, env_prefix="HEDDLE_CONNECTOR_ECHO_"):
    """Settings."""

    base_url: BaseUrl = Field(default="http://127.0.0.1:9", description="The URL.")
    access: SecretStr = Field(default=SecretStr(""), description="The key.")


@connector("echo", settings=EchoSettings)
class Echo(Connector[EchoSettings]):
    """Sends its key in a header of its own."""

    async def models(self, seconds):
        return [Model("refused"), Model("broken"), Model("failing")]

    async def generate(self, call):
        key = self.settings.access.get_secret_value()
        structlog.get_logger().warning(f"asking with {key}", sent=key)
        logging.getLogger("their.library").warning("asking with %s", key)
        warnings.warn(f"asking with {key}", stacklevel=1)
        if call.model == "failing":
            raise ValueError(f"cannot ask with {key}")
        url = f"{self.settings.base_url}/{call.model}"
        body = await self.http.fetch(Request(url, {"x-api-key": key}, call.seconds, b"{}"))
        yield [TextDelta("Hello")]
        raise error_in_body(msgspec.json.decode(body)["error"])
'''


@asynccontextmanager
async def echoing() -> AsyncGenerator[str]:
    """Yield the URL of a provider that sends back its callers' keys in the text of its errors."""

    async def answer(request: web.Request) -> web.Response:
        assert request.headers["x-api-key"] == KEY
        status = 401 if request.path == "/refused" else 200
        text = f"You sent {'; '.join(FORMS.values())}. That is wrong."
        return web.json_response({"error": {"message": text, "code": KEY}}, status=status)

    application = web.Application()
    application.router.add_route("*", "/{path}", answer)
    async with web_server(application) as url:
        yield url


@asynccontextmanager
async def installation(folder: Path) -> AsyncGenerator[Processes]:
    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "echo.py").write_text(SOURCE)
    for number, model in enumerate(("refused", "broken", "failing"), 1):
        write_assistant(folder, str(number), f"model: {{connector: echo, model: {model}}}\n")
    async with (
        echoing() as url,
        processes(
            folder,
            HEDDLE_CONNECTOR_PLUGINS_DIR=str(plugins),
            HEDDLE_CONNECTOR_ECHO_BASE_URL=url,
            HEDDLE_CONNECTOR_ECHO_ACCESS=KEY,
        ) as heddle,
    ):
        yield heddle


async def ask(client: httpx.AsyncClient, number: int, *, stream: bool) -> str:
    response = await client.post(
        "/v1/chat/completions",
        json={
            "model": f"lamb_assistant.{number}",
            "messages": [{"role": "user", "content": "Hello"}],
            "stream": stream,
        },
    )
    return f"{response.headers} {response.text}"


async def test_a_key_that_the_provider_sends_back_reaches_no_answer_and_no_log(
    tmp_path: Path,
) -> None:
    async with installation(tmp_path) as heddle, browser(heddle.url, timeout=60.0) as client:
        answers = {
            (number, stream): await ask(client, number, stream=stream)
            for number in (1, 2, 3)
            for stream in (False, True)
        }
        logs = {module: heddle.log(module) for module in heddle.running}

    for text in (*answers.values(), *logs.values()):
        for name, form in {**FORMS, "part": "magpie"}.items():
            assert form not in text, name
    assert "That is wrong" in answers[1, False] + answers[1, True]
    assert "asking with [redacted]" in logs[CONNECTOR]
    assert "cannot ask with [redacted]" in logs[CONNECTOR]
    assert logs[GATEWAY]
