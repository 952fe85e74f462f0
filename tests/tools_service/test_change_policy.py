"""Which calls of tools that change something run, are confirmed first, or never run."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from aiohttp import web
from heddle.assistant.v1 import assistant_pb2
from heddle.assistant.v1.assistant_pb2 import (
    CHANGE_POLICY_ASK,
    CHANGE_POLICY_NEVER,
    CHANGE_POLICY_RUN,
    CHANGE_POLICY_UNSPECIFIED,
)
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.errors import PermissionDeniedError, UnavailableError, from_status
from heddle_runtime.identity.call_metadata import CALLER, Caller, new_call_options
from heddle_runtime.identity.callers import Identity
from heddle_tools_service.running.change_policy import refuse
from runtime.accounts import Accounts
from tools_service.calling import Calling, calling_tools
from tools_service.mcp_calling import UNI, listed
from tools_service.mcp_sites import Stranger, described, polite, result, stranger
from tools_service.serving import said

OPEN, RUN, ASK, NEVER = (
    CHANGE_POLICY_UNSPECIFIED,
    CHANGE_POLICY_RUN,
    CHANGE_POLICY_ASK,
    CHANGE_POLICY_NEVER,
)
READ_ONLY = pb.TOOL_EFFECT_READ_ONLY
ANN = Identity("ann@uni.example", "uni", scopes=("creator",))
Policy: TypeAlias = "assistant_pb2.ChangePolicy.ValueType"
HINTS: dict[str, dict[str, Any]] = {
    "silent": {},
    "read": {"annotations": {"readOnlyHint": True, "destructiveHint": True}},
    "add": {"annotations": {"destructiveHint": False}},
    "drop": {"annotations": {"readOnlyHint": False, "destructiveHint": True}},
    "titled": {"annotations": {"title": "Harmless", "idempotentHint": True}},
}


async def act(_: web.Request, message: dict[str, Any]) -> web.StreamResponse:
    tools = [described(name, **more) for name, more in HINTS.items()]
    content = [{"type": "text", "text": "acted"}]
    return polite(message, tools) or result(message, {"content": content})


@pytest.fixture
async def site() -> AsyncIterator[Stranger]:
    async with stranger(act) as running:
        yield running


@pytest.fixture
def accounts() -> Accounts:
    return Accounts()  # type: ignore[abstract] # it answers only what a tool service asks


@pytest.fixture
async def tools(accounts: Accounts, tmp_path: Path) -> AsyncIterator[Calling]:
    async with calling_tools(tmp_path, accounts) as calling:
        yield calling


def invoked(config: dict[str, Any], on_change: Policy, function: str = "") -> pb.ToolInvocation:
    call = pb.FunctionCall(name=function) if function else None
    return pb.ToolInvocation(
        id="1", name="mcp", config=to_struct(config), on_change=on_change, function_call=call
    )


async def policies(tools: Calling, config: dict[str, Any], on_change: Policy) -> dict[str, Policy]:
    request = pb.ListFunctionsRequest(invocations=[invoked(config, on_change)], assistant=UNI)
    before = CALLER.set(Caller("req_test", ANN))
    try:
        response = await tools.client.stub.ListFunctions(request, **new_call_options(30))
    finally:
        CALLER.reset(before)
    [offered] = response.functions
    assert not offered.HasField("error"), offered.error
    names = [each.name for each in offered.functions]
    return dict(zip(names, offered.policies, strict=True))


async def accepted(tools: Calling, site: Stranger) -> dict[str, Any]:
    [offered] = await listed(tools, {"url": site.url})
    pins = {each.declaration.name: each.pin for each in offered.held_back}
    assert len(set(pins.values())) == len(pins)  # the hints are a part of the form
    return {"url": site.url, "tools": list(pins), "pins": pins}


CASES = [
    # binding, organisation: what reads, what can be put back, what can destroy
    (OPEN, OPEN, (RUN, RUN, ASK)),
    (RUN, OPEN, (RUN, RUN, RUN)),
    (ASK, OPEN, (RUN, ASK, ASK)),
    (NEVER, OPEN, (RUN, NEVER, NEVER)),
    (OPEN, RUN, (RUN, RUN, ASK)),
    (RUN, ASK, (RUN, ASK, ASK)),
    (RUN, NEVER, (RUN, NEVER, NEVER)),
    (NEVER, RUN, (RUN, NEVER, NEVER)),
]


@pytest.mark.parametrize("floor", [OPEN, RUN, ASK, NEVER])
async def test_the_stricter_policy_counts_for_what_changes_something(
    tools: Calling, accounts: Accounts, site: Stranger, floor: Policy
) -> None:
    accounts.add("uni", on_change=floor)
    config = await accepted(tools, site)
    for binding, organization, (read, add, drop) in CASES:
        if organization == floor:
            offered = await policies(tools, config, binding)
            expected = {"read": read, "add": add, "drop": drop, "silent": drop, "titled": drop}
            assert offered == expected


async def test_what_never_runs_is_refused_and_what_only_reads_runs(
    tools: Calling, accounts: Accounts, site: Stranger
) -> None:
    accounts.add("uni", on_change=NEVER)
    config = await accepted(tools, site)
    context = said("?", organization="uni")
    outcomes = [
        await tools.event(invoked(config, OPEN, name), context) for name in ("read", "add", "drop")
    ]
    assert [each.HasField("result") for each in outcomes] == [True, False, False]
    assert from_status(outcomes[2].error).code.name == "PERMISSION_DENIED"
    assert len([m for m in site.messages if m["method"] == "tools/call"]) == 1


def test_a_tool_whose_user_must_be_asked_does_not_run_before_the_model() -> None:
    refuse(pb.ToolInvocation(name="act"), RUN)
    refuse(pb.ToolInvocation(name="act", function_call=pb.FunctionCall(name="act")), ASK)
    with pytest.raises(PermissionDeniedError, match="cannot confirm"):
        refuse(pb.ToolInvocation(name="act"), ASK)


async def test_without_settings_of_organisations_only_tools_that_read_run(
    tools: Calling, accounts: Accounts, site: Stranger
) -> None:
    accounts.add("uni")
    config = await accepted(tools, site)
    accounts.failure = UnavailableError("down")
    context = said("?", organization="other")
    event = await tools.event(invoked(config, RUN, "drop"), context)
    assert from_status(event.error).code.name == "UNAVAILABLE"


async def test_the_tools_of_heddle_that_change_something_are_known(tools: Calling) -> None:
    before = CALLER.set(Caller("req_test", ANN))
    try:
        request = pb.ListToolsRequest(page_size=200)
        installed = (await tools.client.stub.ListTools(request, **new_call_options(30))).tools
    finally:
        CALLER.reset(before)
    changing = {each.name: each.effect for each in installed if each.effect != READ_ONLY}
    assert changing == {
        "mcp": pb.TOOL_EFFECT_DESTRUCTIVE,
        "patch_file": pb.TOOL_EFFECT_NON_DESTRUCTIVE,
        "restore_file": pb.TOOL_EFFECT_NON_DESTRUCTIVE,
    }
