"""Calls of the workspace's tools as a model makes them, in the name of people who are known."""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import running
from heddle_tools_service.app import ToolsSettings, app
from pydantic import SecretStr
from runtime.accounts import SECRET, Accounts, serving_accounts
from tools_service.serving import Client, granted, invocation, outcome, said, text_of

ANA = Identity("ana@example.org", "looms", ("creator",))
BOB = Identity("bob@example.org", "looms", ("creator",))
EVE = Identity("ana@example.org", "pirates", ("creator",))
CHANGE = {
    "line_start": 2,
    "line_end": 2,
    "old_content": "    pass",
    "new_content": "    return 1",
    "reason": "Return a value",
}


@asynccontextmanager
async def serving_in(folder: Path, secret: str = SECRET) -> AsyncGenerator[Client]:
    """Serve tools in a folder, to a client that signs with `secret`."""
    accounts = Accounts()  # type: ignore[abstract] # it answers only what a tool service asks
    async with serving_accounts(accounts) as account_service:
        settings = ToolsSettings.model_validate(
            {
                "listen": "127.0.0.1:0",
                "drain_wait": 0,
                "workspace_dir": folder / "workspaces",
                "assistants_address": account_service.address,
                "HEDDLE_IDENTITY_SECRET": SECRET,
            }
        )
        async with (
            running(app(settings), settings) as service,
            channel(service.address, secret=SecretStr(secret)) as connection,
        ):
            await connection.channel_ready()
            yield Client(tool_pb2_grpc.ToolServiceStub(connection))


@contextmanager
def asked_by(identity: Identity) -> Iterator[None]:
    before = CALLER.set(Caller("request-1", identity))
    yield
    CALLER.reset(before)


async def call(
    client: Client,
    tool: str,
    arguments: dict[str, Any],
    *,
    identity: Identity = ANA,
    config: dict[str, Any] | None = None,
) -> tuple[list[pb.ToolStatus], "pb.ToolResult | HeddleError"]:
    """Return the statuses and the outcome of a model's call."""
    made = invocation("1", tool, config)
    made.function_call.name = tool
    made.function_call.arguments_json = json.dumps(arguments)
    with asked_by(identity):
        context = granted(said("Mend it", owner="eve@example.org"), SECRET)
        events = await client.run_all([made], context)
    told = [event.status for batch in events for event in batch if event.HasField("status")]
    return told, outcome(events, "1")


async def done(client: Client, tool: str, arguments: dict[str, Any], **more: Any) -> Any:
    """Return what a model reads of a call that works: JSON, or text."""
    _, found = await call(client, tool, arguments, **more)
    assert isinstance(found, pb.ToolResult), found
    text = text_of(found)
    return json.loads(text) if text.startswith("{") else text


async def refused(client: Client, tool: str, arguments: dict[str, Any], **more: Any) -> HeddleError:
    _, found = await call(client, tool, arguments, **more)
    assert isinstance(found, HeddleError), found
    return found
