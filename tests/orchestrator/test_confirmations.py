"""Calls that the user must confirm: asked for as a call of the client, run once if it confirms."""

import base64
import json
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import grpc
import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_orchestrator.tools.confirmations import FUNCTION, SECONDS
from heddle_runtime.identity.call_metadata import Caller, calling_as
from heddle_runtime.identity.callers import Identity
from heddle_runtime.identity.signed_tokens import signed
from orchestrator.agent.scripted_services import Model, ToolServer, routing
from orchestrator.harness import (
    Connector,
    Harness,
    ask,
    assistant,
    done,
    function,
    kinds,
    orchestrating,
    text,
)

SECRET = "a secret of the services of a test"
ASK = assistant_pb2.CHANGE_POLICY_ASK
ANN, BOB = (
    Identity("ann@example.org", "school", ("creator",)),
    Identity("bob@example.org", "school", ("creator",)),
)
ARGUMENTS = '{"page": "Home",  "force": true}'
Ask = Callable[[Harness, pb.RunCompletionRequest], Awaitable[Sequence[pb.RunEvent]]]


async def streamed(harness: Harness, request: pb.RunCompletionRequest) -> Sequence[pb.RunEvent]:
    return await harness.events(request)


async def whole(harness: Harness, request: pb.RunCompletionRequest) -> Sequence[pb.RunEvent]:
    return await harness.whole(request)


def asking(name: str = "delete", **config: object) -> assistant_pb2.ToolBinding:
    binding = function(name, **config)
    binding.on_change = ASK
    return binding


def caller(identity: Identity) -> Caller:
    return Caller("req_test", identity)


def question(events: Sequence[pb.RunEvent]) -> tuple[chat_pb2.ToolCall, dict[str, Any]]:
    """Return the one call that asks the client, and its arguments."""
    [call] = [event.tool_call for event in events if event.HasField("tool_call")]
    assert call.name == FUNCTION
    return call, json.loads(call.arguments_json)


def answered(
    request: pb.RunCompletionRequest, call: chat_pb2.ToolCall, words: str
) -> pb.RunCompletionRequest:
    """Return a request that repeats a conversation with a result of a call."""
    again = pb.RunCompletionRequest()
    again.CopyFrom(request)
    again.messages.add(role=chat_pb2.ROLE_ASSISTANT, tool_calls=[call])
    result = again.messages.add(role=chat_pb2.ROLE_TOOL, tool_call_id=call.id)
    result.parts.add(text=words)
    return again


def model(calls: int = 1) -> Connector:
    return Connector(calls=calls, arguments=ARGUMENTS)  # type: ignore[abstract] # see the harness


def ran(harness: Harness) -> list[str]:
    return [
        invocation.function_call.arguments_json
        for request in harness.tools.seen
        for invocation in request.invocations
    ]


def prompts(harness: Harness) -> str:
    return "".join(map(str, harness.connector.seen)) + "".join(map(str, harness.tools.seen))


@pytest.mark.parametrize("run", [streamed, whole])
async def test_a_call_to_confirm_ends_the_run_and_runs_once_when_the_client_confirms(
    run: Ask,
) -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        with calling_as(caller(ANN)):
            request = ask(assistant(asking()))
            events = await run(harness, request)
            assert kinds(events)[-3:] == ["warning", "tool_call", "done"]
            assert events[-1].done.finish_reason == chat_pb2.FINISH_REASON_TOOL_CALLS
            assert not harness.tools.seen
            call, content = question(events)
            confirmation = content.pop("confirmation")
            arguments = {"page": "Home", "force": True}
            names = dict.fromkeys(("tool", "binding_id", "function"), "delete")
            assert content == {**names, "arguments": arguments}
            confirmed = answered(request, call, confirmation)
            events = await run(harness, confirmed)
            assert "".join(event.text_delta for event in events) == "Hello"
            assert ran(harness) == [ARGUMENTS]
            *_, asked, result = harness.connector.seen[-1].messages
            assert (asked.tool_calls[0].name, result.tool_call_id) == ("delete", call.id)
            with pytest.raises(grpc.aio.AioRpcError, match="was used before"):
                await run(harness, confirmed)
        assert ran(harness) == [ARGUMENTS]
        assert confirmation[-20:] not in prompts(harness)
        assert SECONDS < 15 * 60  # for which the assistants service remembers it


async def test_a_declined_call_does_not_run_and_is_not_asked_for_again() -> None:
    async with orchestrating(connector=model(9), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        with calling_as(caller(ANN)):
            request = ask(assistant(asking()))
            call, content = question(await harness.events(request))
            for words in ("", "no", f"Unknown tool with {content}", json.dumps(content)):
                harness.connector.calls = len(harness.connector.seen) + 1
                events = await harness.events(answered(request, call, words))
                assert "tool_call" not in kinds(events)
        assert not harness.tools.seen
        assert "has not confirmed" in prompts(harness)


async def test_a_conversation_that_goes_on_contains_no_confirmation() -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        with calling_as(caller(ANN)):
            request = ask(assistant(asking()))
            call, content = question(await harness.events(request))
            later = answered(request, call, content["confirmation"])
            later.messages.add(role=chat_pb2.ROLE_ASSISTANT).parts.add(text="Done.")
            later.messages.add(role=chat_pb2.ROLE_USER).parts.add(text="And now?")
            await harness.events(later)
        assert not harness.tools.seen
        earlier = [str(message) for message in harness.connector.seen[-1].messages]
        assert "confirmed this call earlier" in earlier[2]
        assert FUNCTION not in prompts(harness)
        assert content["confirmation"] not in prompts(harness)


def claims_of(confirmation: str) -> dict[str, Any]:
    payload = confirmation.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(payload + "=="))
    return claims


def forged(confirmation: str, secret: str = SECRET, **changes: object) -> str:
    return signed({**claims_of(confirmation), **changes}, secret.encode())


FORGERIES: Mapping[str, Callable[[str], str]] = {
    "signed with another key": lambda it: forged(it, "another secret of more than 32 characters"),
    "unsigned": lambda it: it.rpartition(".")[0] + ".",
    "for other arguments": lambda it: ".".join(
        [
            it.split(".")[0],
            forged(it, arguments='{"page": "All"}').split(".")[1],
            it.split(".")[2],
        ]
    ),
    "expired": lambda it: forged(it, exp=int(time.time()) - 1),
    "of another place": lambda it: forged(it, place="0" * 64),
    "a token of another kind": lambda _: signed({"sub": ANN.subject, "aud": "x"}, SECRET.encode()),
}


@pytest.mark.parametrize("forgery", FORGERIES)
async def test_a_forged_confirmation_is_an_error_and_runs_nothing(forgery: str) -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        with calling_as(caller(ANN)):
            request = ask(assistant(asking()))
            call, content = question(await harness.events(request))
            wrong = FORGERIES[forgery](content["confirmation"])
            with pytest.raises(grpc.aio.AioRpcError, match="has expired, or is for another") as no:
                await harness.events(answered(request, call, wrong))
            assert no.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert not harness.tools.seen
        assert not harness.assistants.used


@pytest.mark.parametrize("changed", ["user", "configuration", "tool", "disabled", "assistant"])
async def test_a_confirmation_is_for_its_user_its_assistant_and_its_tool(changed: str) -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        binding = asking()
        with calling_as(caller(ANN)):
            request = ask(assistant(binding))
            call, content = question(await harness.events(request))
        if changed == "configuration":
            binding = asking(server="elsewhere")
        elif changed == "tool":
            binding = asking("send")
        elif changed == "disabled":
            binding.disabled = True
        other = ask(assistant(binding))
        other.assistant.id = "9" if changed == "assistant" else ""
        confirmed = answered(other, call, content["confirmation"])
        with (
            calling_as(caller(BOB if changed == "user" else ANN)),
            pytest.raises(grpc.aio.AioRpcError, match="has expired, or is for another"),
        ):
            await harness.events(confirmed)
        assert not harness.tools.seen


async def test_a_model_that_asks_for_a_confirmation_itself_confirms_nothing() -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        with calling_as(caller(ANN)):
            request = ask(assistant(asking()))
            request.functions.add(name=FUNCTION)
            question(await harness.events(request))
            offered = {each.name for each in harness.connector.seen[-1].functions}
            assert offered == {"delete"}


async def test_arguments_that_cannot_be_shown_are_not_asked_for_and_do_not_run() -> None:
    async with orchestrating(connector=model(), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        harness.connector.arguments = '{"a":' * 300 + "1" + "}" * 300
        with calling_as(caller(ANN)):
            events = await harness.events(ask(assistant(asking())))
        assert "tool_call" not in kinds(events)
        assert not harness.tools.seen


async def test_a_function_that_never_runs_is_not_offered() -> None:
    async with orchestrating(connector=model(0), HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        binding = asking()
        binding.on_change = assistant_pb2.CHANGE_POLICY_NEVER
        with calling_as(caller(ANN)):
            await harness.events(ask(assistant(binding, function("read"))))
        assert [each.name for each in harness.connector.seen[-1].functions] == ["read"]


async def test_the_routing_agent_asks_before_it_runs_a_tool_and_runs_it_once_confirmed() -> None:
    tools = ToolServer()  # type: ignore[abstract] # see the harness
    scripted = Model()  # type: ignore[abstract] # see the harness
    scripted.decide = lambda _: [("delete", {"query": "Home"})]
    scripted.batches = [[text("Deleted."), done()]]
    tools.finds = {"delete": [{"deleted": "Home"}]}
    async with orchestrating(tools, scripted, HEDDLE_IDENTITY_SECRET=SECRET) as harness:
        target = routing("delete", router="native")
        target.tools[0].on_change = ASK
        with calling_as(caller(ANN)):
            request = ask(target, "Delete the page Home, please")
            events = await harness.events(request)
            call, content = question(events)
            assert events[-1].done.finish_reason == chat_pb2.FINISH_REASON_TOOL_CALLS
            assert (content["arguments"], tools.ran) == ({"query": "Home"}, [])
            declined = await harness.events(answered(request, call, "no"))
            assert ("tool_call" in kinds(declined), tools.ran) == (False, [])
            events = await harness.events(answered(request, call, content["confirmation"]))
        assert tools.ran[0] == ("delete", {"query": "Home"})
        [first, *_] = [event.decision for event in events if event.HasField("decision")]
        assert (first.router, first.reason) == ("user", "The user confirmed it.")
        assert content["confirmation"] not in prompts(harness)
