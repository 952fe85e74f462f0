"""The connector service behind real gRPC, and short ways to ask it."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import pytest
from heddle.account.v1.account_pb2_grpc import add_AccountServiceServicer_to_server
from heddle.assistant.v1.assistant_pb2 import ModelRef
from heddle.chat.v1 import chat_pb2 as chat
from heddle.connector.v1 import connector_pb2 as pb
from heddle.connector.v1 import connector_pb2_grpc as pb_grpc
from heddle_connector.app import ConnectorSettings, app
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.serving.server import running
from runtime.accounts import Accounts

from connector.provider import Provider, Script, provider

if TYPE_CHECKING:  # generated stubs have this class on paper only
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub

    Stub = ConnectorServiceAsyncStub
else:
    Stub = pb_grpc.ConnectorServiceStub

Asked = pb.GenerateMessageRequest | pb.GenerateWholeMessageRequest


@asynccontextmanager
async def service(accounts: Accounts | None = None, **settings: Any) -> AsyncGenerator[Stub]:
    """Run the service beside `accounts` and yield a stub for it.

    Calls are the developer's, or the current caller's if the settings have a secret.
    """
    given = {"listen": "127.0.0.1:0", "drain_wait": 0, "shutdown_grace": 1}
    chosen = ConnectorSettings.model_validate({**given, SETTING: "127.0.0.0/8", **settings})
    secret = chosen.identity_secret if "HEDDLE_IDENTITY_SECRET" in settings else None
    async with (
        running(app(chosen, channel_to(accounts)), chosen) as up,
        channel(up.address, secret=secret) as wire,
    ):
        await wire.channel_ready()
        yield pb_grpc.ConnectorServiceStub(wire)


def channel_to(accounts: Accounts | None = None) -> InProcessChannel:
    """Return a channel to an account service, by default one without settings."""
    known = InProcessChannel()
    add_AccountServiceServicer_to_server(accounts or nobodys_accounts(), known)  # type: ignore[arg-type] # it stands where generated code wants a server
    return known


def nobodys_accounts(**owners: str) -> Accounts:
    """Return an account service that knows the organisations of `owners`, without settings."""
    return Accounts(owners=owners)  # type: ignore[abstract] # it does not offer every method


@asynccontextmanager
async def openai_at(
    script: Script, monkeypatch: pytest.MonkeyPatch, key: str = "sk-test-0123456789abcdef"
) -> AsyncGenerator[tuple[Stub, Provider]]:
    """Run the service with its `openai` connector pointed at a provider that does `script`."""
    async with provider(script) as made:
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", f"{made.url}/v1")
        monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_API_KEY", key)
        async with service() as stub:
            yield stub, made


def said(text: str, role: chat.Role.ValueType = chat.ROLE_USER) -> chat.Message:
    """Return a message of one text."""
    return chat.Message(role=role, parts=[chat.ContentPart(text=text)])


def asked(
    connector: str = "openai",
    model: str = "gpt-x",
    messages: Sequence[chat.Message] = (),
    **fields: Any,
) -> pb.GenerateMessageRequest:
    """Return a request for a stream."""
    return pb.GenerateMessageRequest(
        model=ModelRef(connector=connector, model=model),
        messages=messages or [said("Say hello.")],
        **fields,
    )


def as_whole(generation: pb.GenerateMessageRequest) -> pb.GenerateWholeMessageRequest:
    """Return the same request for a whole answer."""
    return pb.GenerateWholeMessageRequest(generation=generation)


async def responses(
    stub: Stub, request: Asked, seconds: float
) -> AsyncGenerator[list[pb.GenerationEvent]]:
    """Yield the events of each response, the only one of a whole answer."""
    if isinstance(request, pb.GenerateWholeMessageRequest):
        response = await stub.GenerateWholeMessage(request, **new_call_options(seconds))
        yield list(response.events)
        return
    async for streamed in stub.GenerateMessage(request, **new_call_options(seconds)):
        yield list(streamed.events)


async def batches(
    stub: Stub, request: Asked, seconds: float = 10
) -> list[list[pb.GenerationEvent]]:
    """Return the events of each response."""
    return [found async for found in responses(stub, request, seconds)]


async def events(stub: Stub, request: Asked, seconds: float = 10) -> list[pb.GenerationEvent]:
    """Return all events, having checked that exactly one `done` comes last."""
    found = [event for batch in await batches(stub, request, seconds) for event in batch]
    kinds = [event.WhichOneof("event") for event in found]
    assert kinds[-1] == "done"
    assert kinds.count("done") == 1
    return found


async def failure(stub: Stub, request: Asked, seconds: float = 10) -> HeddleError:
    """Return the error that the call ends with."""
    error, _ = await text_and_failure(stub, request, seconds)
    return error


async def text_and_failure(
    stub: Stub, request: Asked, seconds: float = 10
) -> tuple[HeddleError, str]:
    """Return the error that the call ends with, and the text before it."""
    found: list[pb.GenerationEvent] = []
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        async for batch in responses(stub, request, seconds):
            found += batch
    return from_rpc(caught.value), answer(found)


def answer(found: Sequence[pb.GenerationEvent]) -> str:
    """Return the text of events."""
    return "".join(event.text_delta for event in found)


def ask_local(tokens: int = 2000) -> pb.GenerateMessageRequest:
    """Return a request that keeps the embedded model busy for a while."""
    options = chat.GenerationOptions(temperature=0, max_tokens=tokens)
    return asked("local", "smollm2-135m-instruct", [said("Tell a long story.")], options=options)
