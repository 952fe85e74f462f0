"""The whole tool service, called as a model would call it, in somebody's name."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb
from heddle.tool.v1 import tool_pb2_grpc
from heddle_runtime.errors import HeddleError, from_status
from heddle_runtime.http.egress import SETTING
from heddle_runtime.identity.call_metadata import CALLER, Caller
from heddle_runtime.identity.callers import Identity
from heddle_runtime.serving.server import running
from heddle_tools_service.app import ToolsSettings, app
from runtime.accounts import SECRET, Accounts, serving_accounts
from tools_service.serving import Client, granted, text_of

SERVICE = Identity("somebody", scopes=("creator",))


@dataclass(frozen=True)
class Calling:
    """Calls tools of a service that verifies who asks."""

    client: Client

    async def event(
        self,
        invocation: pb.ToolInvocation,
        context: pb.RunContext | None = None,
        identity: Identity = SERVICE,
        run: str = "req_test",
    ) -> pb.ToolEvent:
        """Return the last event of an invocation, which is part of the request `run`.

        As the orchestrator does, it grants the caller the rights of the assistant's owner.
        """
        before = CALLER.set(Caller(run, identity))
        try:
            batches = await self.client.run_all([invocation], granted(context, SECRET))
        finally:
            CALLER.reset(before)
        return [event for batch in batches for event in batch][-1]

    async def call(
        self,
        tool: str,
        function: str,
        /,
        context: pb.RunContext | None = None,
        identity: Identity = SERVICE,
        **arguments: Any,
    ) -> pb.ToolResult:
        """Return the result of a model's call."""
        event = await self._called(tool, function, context, identity, arguments)
        assert event.HasField("result"), event
        return event.result

    async def answer(self, tool: str, function: str, /, **more: Any) -> dict[str, Any]:
        """Return what the model reads, parsed."""
        found: dict[str, Any] = json.loads(text_of(await self.call(tool, function, **more)))
        return found

    async def failure(
        self,
        tool: str,
        function: str,
        /,
        context: pb.RunContext | None = None,
        identity: Identity = SERVICE,
        **arguments: Any,
    ) -> HeddleError:
        """Return how a model's call failed."""
        event = await self._called(tool, function, context, identity, arguments)
        assert event.HasField("error"), event
        return from_status(event.error)

    async def _called(
        self,
        tool: str,
        function: str,
        context: pb.RunContext | None,
        identity: Identity,
        arguments: dict[str, Any],
    ) -> pb.ToolEvent:
        call = pb.FunctionCall(name=function, arguments_json=json.dumps(arguments))
        invocation = pb.ToolInvocation(id="1", name=tool, function_call=call)
        return await self.event(invocation, context, identity)


@asynccontextmanager
async def calling_tools(
    folder: Path, accounts: Accounts | None = None, **more: Any
) -> AsyncGenerator[Calling]:
    """Serve all tools; `more` are settings. Whose Moodle is whose, `accounts` tells."""
    given = ToolsSettings.model_validate(
        {
            "listen": "127.0.0.1:0",
            "drain_wait": 0,
            "workspace_dir": folder / "workspaces",
            "HEDDLE_IDENTITY_SECRET": SECRET,
            SETTING: "127.0.0.0/8",
            **more,
        }
    )
    known = accounts or Accounts()  # type: ignore[abstract] # it does not offer every method
    async with serving_accounts(known) as service:
        reached = given.model_copy(update={"assistants_address": service.address})
        async with running(app(reached), reached) as running_tools:
            stub = tool_pb2_grpc.ToolServiceStub(running_tools.local)
            yield Calling(Client(stub))
