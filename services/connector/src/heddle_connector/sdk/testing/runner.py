"""Runs a connector against a scripted provider."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

from heddle_runtime.serving.plugins import mounted_package

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import (
    Done,
    Event,
    ReasoningDelta,
    TextDelta,
    ToolCall,
)
from heddle_connector.generation.generated_images import MAX_IMAGES_BYTES, GeneratedImages
from heddle_connector.http import http_client
from heddle_connector.sdk.definition import Connector, Model, plugins_in
from heddle_connector.sdk.testing.provider import ScriptedProvider
from heddle_connector.sdk.testing.requests import generate_request

MAX_SECONDS = 60.0
"""The time limit of a call in tests."""
_GROUP = "heddle.connectors.tests"


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a connector."""

    batches: Sequence[Sequence[Event]]
    """The events as the connector yielded them."""

    @property
    def events(self) -> Sequence[Event]:
        """The events of all batches, in order."""
        return [event for batch in self.batches for event in batch]

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

    @property
    def reasoning(self) -> str:
        """The reasoning of the model."""
        return "".join(event.text for event in self.events if isinstance(event, ReasoningDelta))

    @property
    def tool_calls(self) -> Sequence[ToolCall]:
        """The tool calls that the model requests."""
        return [event for event in self.events if isinstance(event, ToolCall)]

    @property
    def done(self) -> Done:
        """The last event. An assertion fails unless `Done` occurs exactly once and last."""
        events = self.events
        number = sum(isinstance(event, Done) for event in events)
        assert number == 1, f"An answer contains one Done event; this one contains {number}."
        last = events[-1]
        assert isinstance(last, Done), f"The last event is Done, not {type(last).__name__}."
        return last


class _Deadline:
    def time_remaining(self) -> float:
        return MAX_SECONDS


def ask(
    connector: type[Connector[Any]],
    prompt: str | Sequence[Mapping[str, Any]],
    provider: ScriptedProvider | None = None,
    *,
    model: str = "model",
    whole: bool = False,
    settings: Mapping[str, str] = MappingProxyType({}),
    **members: Any,
) -> Answer:
    """Ask a connector, and return its answer.

    Args:
        connector: The connector.
        prompt: The user's message, or a conversation in OpenAI's format.
        provider: The provider, if the connector has one.
        model: The provider's name of the model.
        whole: Whether the answer is requested as a whole, and not as a stream.
        settings: Settings of the connector; `{provider}` in a value is the provider's URL.
        members: Other members of the request in OpenAI's format, such as `tools` or `temperature`.

    Raises:
        HeddleError: The error of the connector.
    """

    async def answer() -> Answer:
        with TemporaryDirectory() as folder:
            call = make_call(connector, prompt, model, Path(folder), whole=whole, members=members)
            async with opened(connector, provider, settings) as instance:
                if whole:
                    return Answer([await instance.complete(call)])
                return Answer([list(batch) async for batch in instance.generate(call)])

    return asyncio.run(answer())


def list_models(
    connector: type[Connector[Any]],
    provider: ScriptedProvider | None = None,
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Sequence[Model]:
    """Return the models that a connector lists. The settings are those of `ask`."""

    async def models() -> Sequence[Model]:
        async with opened(connector, provider, settings) as instance:
            return await instance.models(MAX_SECONDS)

    return asyncio.run(models())


@asynccontextmanager
async def opened(
    connector: type[Connector[Any]],
    provider: ScriptedProvider | None,
    settings: Mapping[str, str],
) -> AsyncGenerator[Connector[Any]]:
    """Yield a connector whose provider runs."""
    server = provider or ScriptedProvider()
    async with server.running() as url, http_client(5.0) as http:
        values: dict[str, Any] = {
            name: value.replace("{provider}", url) for name, value in settings.items()
        }
        instance = connector.plugin.open(connector.plugin.settings(**values), http)
        try:
            yield instance
        finally:
            await instance.close()


def make_call(
    connector: type[Connector[Any]],
    prompt: str | Sequence[Mapping[str, Any]],
    model: str,
    folder: Path,
    *,
    whole: bool = False,
    members: Mapping[str, Any] = MappingProxyType({}),
) -> Call:
    """Return a call of a connector. `folder` is for generated images."""
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    request = generate_request(connector.plugin.name, model, messages, members)
    images = GeneratedImages(folder, MAX_IMAGES_BYTES)
    return Call(request, _Deadline(), images, whole=whole)


def connector_in(file: Path) -> type[Connector[Any]]:
    """Return the connector that a file defines.

    The file imports helpers beside it relatively (`from ._helper import x`), as in the folder of
    the setting `HEDDLE_CONNECTOR_PLUGINS_DIR`.

    Raises:
        ValueError: The file does not define exactly one connector.
        Exception: The file cannot be imported.
    """
    module = import_module(f"{mounted_package(file.parent, _GROUP)}.{file.stem}")
    connectors = [plugin.create for plugin in plugins_in(module)]
    if len(connectors) != 1:
        raise ValueError(f"{file.name} defines {len(connectors)} connectors. It must define one.")
    return connectors[0]  # type: ignore[return-value] # what the decorator registers is the class
