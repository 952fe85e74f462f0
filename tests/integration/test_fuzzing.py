"""Every method of every service gets requests made from its descriptor.

No call ends with INTERNAL or UNKNOWN, nothing is logged as unexpected, and all services serve
afterwards. `python -m pytest tests/integration/test_fuzzing.py -m ""` makes all 20,000 calls.
"""

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any, Self

import grpc
import pytest
import pytest_asyncio
from google.protobuf.descriptor import MethodDescriptor
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.struct_codec import to_struct
from heddle_runtime.identity.callers import SERVICE, Identity, TokenSigner
from heddle_runtime.rpc.client import OPTIONS, channel
from integration.access.deployments import (
    ADDRESSES,
    COLLEAGUE,
    OPERATOR,
    OWNER,
    STRANGER,
    Deployment,
    deployed,
    rpcs,
)
from integration.access.rpcs import QUESTION
from integration.access.things import Things
from integration.fuzz.requests import Requests
from pydantic import SecretStr

SHARDS = 10
CALLS_PER_SHARD = 2_000
SAMPLE = 300
CONCURRENT = 8
SECONDS = 10.0
CALLERS: tuple[Identity | None, ...] = (
    OWNER,
    COLLEAGUE,
    STRANGER,
    OPERATOR,
    Identity("heddle-fuzz", scopes=(SERVICE,)),
    None,
)
FAILING = tool_pb2.ExecuteToolRequest(
    invocation=tool_pb2.ToolInvocation(id="1", name="rubric", config=to_struct({"rubric_id": "x"})),
    context=tool_pb2.RunContext(messages=[QUESTION]),
)
"""Runs a tool that fails."""
FAULTS = (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN)
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def heddle(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Deployment]:
    async with deployed("one process", tmp_path_factory.mktemp("fuzzing")) as running:
        yield running


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def texts(heddle: Deployment) -> list[str]:
    """Return identifiers of things that exist when the first call is made."""

    def identifiers() -> list[str]:
        things = Things(heddle, shared=True)
        return [things.assistant, things.rubric, things.file, things.store, things.attached]

    return await asyncio.to_thread(identifiers)


@pytest.mark.parametrize(
    ("shard", "calls"),
    [
        (0, SAMPLE),
        *(
            pytest.param(shard, CALLS_PER_SHARD, marks=pytest.mark.exhaustive)
            for shard in range(1, SHARDS + 1)
        ),
    ],
)
async def test_no_request_makes_a_service_fail(
    heddle: Deployment, texts: list[str], shard: int, calls: int
) -> None:
    logged = len(heddle.running.log("heddle_devstack"))
    requests = Requests(shard, texts)
    methods = itertools.cycle(rpcs().values())
    callers = itertools.cycle([each for each in CALLERS for _ in rpcs()])
    pending = iter([(next(methods), next(callers)) for _ in range(calls)])
    faults: list[str] = []
    ends: dict[grpc.StatusCode, int] = {}
    async with Services(heddle, multiplexed=shard % 2 == 0) as services:

        async def work() -> None:
            for method, caller in pending:
                request = requests.encoded(method.input_type)
                code, details = await services.call(method, caller, request)
                ends[code] = ends.get(code, 0) + 1
                if code in FAULTS:
                    faults.append(f"{method.full_name} {code} {details} {caller} {request[:300]!r}")

        await asyncio.gather(*(work() for _ in range(CONCURRENT)))
        end = await services.call(rpcs()["Tool.ExecuteTool"], OWNER, FAILING.SerializeToString())
        assert end[0] == grpc.StatusCode.FAILED_PRECONDITION, end
        assert not faults, "\n\n".join(faults)
        assert ends[grpc.StatusCode.OK] > calls / 50
        assert sum(ends.values()) == calls
    log = heddle.running.log("heddle_devstack")[logged:]
    unexpected = [line for line in log.splitlines() if '"unexpected' in line]
    assert not unexpected, unexpected[0]
    assert heddle.rest(OPERATOR).get("/assistants").status_code == 200
    assert heddle.ask("Assistant.ListAssistants", OPERATOR)


class Services:
    """Calls services with encoded requests."""

    def __init__(self, heddle: Deployment, *, multiplexed: bool) -> None:
        ports = {heddle.running.ports[module] for module in ADDRESSES.values()}
        self._ports = heddle.running.ports
        self._signer = TokenSigner(heddle.secret)
        self._channels: dict[int, grpc.aio.Channel] = {
            port: channel(f"127.0.0.1:{port}", secret=SecretStr(heddle.secret))
            if multiplexed
            else grpc.aio.insecure_channel(f"127.0.0.1:{port}", OPTIONS)
            for port in ports
        }

    async def __aenter__(self) -> Self:
        for each in self._channels.values():
            await each.channel_ready()
        return self

    async def __aexit__(self, *_: object) -> None:
        for each in self._channels.values():
            await each.close()

    async def call(
        self, method: MethodDescriptor, caller: Identity | None, request: bytes
    ) -> tuple[grpc.StatusCode, str]:
        """Return how a call ends: its code and its message."""
        service = method.containing_service.full_name
        to = self._channels[self._ports[ADDRESSES[service.split(".")[1]]]]
        metadata: tuple[tuple[str, str], ...] = ()
        if caller is not None:
            metadata = (("authorization", f"Bearer {self._signer.token(caller, service)}"),)
        kind: Any = to.unary_stream if method.server_streaming else to.unary_unary
        call = kind(f"/{service}/{method.name}", bytes, bytes)(
            request, timeout=SECONDS, metadata=metadata
        )
        try:
            if method.server_streaming:
                async for _ in call:
                    pass
            else:
                await call
        except grpc.aio.AioRpcError as error:
            return error.code(), error.details() or ""
        return grpc.StatusCode.OK, ""
