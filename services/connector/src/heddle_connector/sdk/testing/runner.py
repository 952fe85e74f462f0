"""Runs a connector against a scripted provider."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Any

import msgspec
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb

from heddle_connector.generation.call import Call
from heddle_connector.generation.events import (
    Done,
    Event,
    TextDelta,
    ToolCall,
)
from heddle_connector.generation.generated_images import MAX_IMAGES_BYTES, GeneratedImages
from heddle_connector.http import http_client
from heddle_connector.sdk.definition import Connector, Model
from heddle_connector.sdk.testing.provider import ScriptedProvider

MAX_SECONDS = 60.0
"""The time limit of a call in tests."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a connector."""

    batches: Sequence[Sequence[Event]]
    """The events as the connector yielded them."""

    @property
    def events(self) -> Sequence[Event]:
        """All events in order."""
        return [event for batch in self.batches for event in batch]

    @property
    def text(self) -> str:
        """The text of the answer."""
        return "".join(event.text for event in self.events if isinstance(event, TextDelta))

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
    prompt: str,
    provider: ScriptedProvider | None = None,
    *,
    model: str = "model",
    whole: bool = False,
    tools: Sequence[Mapping[str, Any]] = (),
    settings: Mapping[str, str] = MappingProxyType({}),
) -> Answer:
    """Ask a connector, and return its answer.

    Args:
        connector: The connector.
        prompt: The user's message.
        provider: The provider, if the connector has one.
        model: The provider's name of the model.
        whole: Whether the answer is requested as a whole, and not as a stream.
        tools: Declared tools as OpenAI's function objects.
        settings: Settings of the connector; `{provider}` in a value is the provider's URL.

    Raises:
        HeddleError: The error of the connector.
    """

    async def answer() -> Answer:
        with TemporaryDirectory() as folder:
            call = make_call(connector, prompt, model, Path(folder), whole=whole, tools=tools)
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
        instance = connector(connector.plugin.settings(**values), http)
        try:
            yield instance
        finally:
            await instance.close()


def make_call(
    connector: type[Connector[Any]],
    prompt: str,
    model: str,
    folder: Path,
    *,
    whole: bool = False,
    tools: Sequence[Mapping[str, Any]] = (),
) -> Call:
    """Return a call of a connector. `folder` is for generated images."""
    message = chat.Message(role=chat.ROLE_USER, parts=[chat.ContentPart(text=prompt)])
    functions = [
        chat.FunctionDeclaration(
            name=tool["name"],
            description=tool.get("description", ""),
            parameters_schema_json=msgspec.json.encode(tool.get("parameters", {})).decode(),
        )
        for tool in tools
    ]
    request = pb.GenerateMessageRequest(
        model=ModelRef(connector=connector.plugin.name, model=model),
        messages=[message],
        functions=functions,
        options=chat.GenerationOptions(max_tokens=8, temperature=0),
    )
    images = GeneratedImages(folder, MAX_IMAGES_BYTES)
    return Call(request, _Deadline(), images, whole=whole)
