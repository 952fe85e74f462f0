"""What every connector must fulfil. A new file in `connectors/` is tested without a new test."""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.struct_pb2 import Struct
from heddle.assistant.v1 import assistant_pb2 as assistants
from heddle.chat.v1 import chat_pb2 as chat
from heddle_connector.routing.registry import installed
from heddle_connector.sdk import Example, Plugin
from heddle_connector.sdk.testing import CHECKS, Check
from heddle_runtime.identity.call_metadata import new_call_options

from connector.provider import Exchange, provider
from connector.service import asked, events, service

PLUGINS = installed().loaded
every = pytest.mark.parametrize("plugin", PLUGINS.values(), ids=PLUGINS)


def example_of(plugin: Plugin) -> Example:
    assert plugin.example is not None, "every connector of ours has an example"
    return plugin.example


@asynccontextmanager
async def example_service(
    plugin: Plugin, script: Any, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Any]:
    prefix = plugin.settings.model_config.get("env_prefix", "")
    async with provider(script) as made:
        for name, value in example_of(plugin).settings.items():
            monkeypatch.setenv(f"{prefix}{name}".upper(), value.format(provider=made.url))
        async with service() as stub:
            yield stub


def request(plugin: Plugin, **fields: Any) -> Any:
    options = chat.GenerationOptions(max_tokens=8, temperature=0)
    return asked(plugin.name, example_of(plugin).model, options=options, **fields)


@every
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_passes_the_checks_of_the_test_kit(plugin: Plugin, check: Check) -> None:
    check(plugin.create)  # type: ignore[arg-type] # what the decorator registers is the class


@every
async def test_it_takes_the_whole_assistant_and_its_tools(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E06."""
    config = Struct()
    config.update({"collection": "kb-1"})
    assistant = assistants.Assistant(
        id="42",
        owner="ada@example.org",
        model=assistants.ModelRef(connector=plugin.name, model="x"),
        tools=[assistants.ToolBinding(tool="simple_rag", config=config)],
        extra_json='{"metadata":{"tools":["a","b"]}}',
    )

    async def script(exchange: Exchange) -> None:
        await exchange.stream(example_of(plugin).reply)

    async with example_service(plugin, script, monkeypatch) as stub:
        assert await events(stub, request(plugin, assistant=assistant), 60)


@pytest.mark.alone
@every
async def test_it_stops_when_it_is_cancelled(
    plugin: Plugin, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked_for, closed = asyncio.Event(), asyncio.Event()

    async def script(exchange: Exchange) -> None:
        exchange.begin()
        asked_for.set()
        await exchange.gone()
        closed.set()

    async with example_service(plugin, script, monkeypatch) as stub:
        call = stub.GenerateMessage(request(plugin), **new_call_options(30))
        if example_of(plugin).reply:
            waiting = asyncio.ensure_future(anext(aiter(call)))
            await asked_for.wait()
            begun = time.monotonic()
            call.cancel()
            await asyncio.wait_for(closed.wait(), 2)
            assert time.monotonic() - begun < 0.25
            with pytest.raises(asyncio.CancelledError):
                await waiting
        else:
            await anext(aiter(call))
            call.cancel()
            assert await events(stub, request(plugin), 60)  # and it still serves
