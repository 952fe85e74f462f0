"""Threat 27: calls of internal ports without a valid token, or without a certificate."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path

import grpc
import httpx
import pytest
import pytest_asyncio
from google.protobuf.descriptor import MethodDescriptor
from heddle.multiplex.v1 import multiplex_pb2_grpc
from heddle_gateway.services import SERVICES
from heddle_runtime.identity.call_metadata import AUTHORIZATION
from heddle_runtime.identity.callers import OPERATOR, TokenSigner
from heddle_runtime.settings.mutual_tls import TlsSettings
from heddle_runtime.settings.service import ServiceSettings
from integration.processes import GATEWAY, MODULES, Processes, processes
from joserfc import jwt
from joserfc.jwk import OctKey
from runtime.certificates import Authority

OK = grpc.StatusCode.OK
STREAMS = "heddle.multiplex.v1.MultiplexService"
SECRET = "a-secret-of-at-least-32-characters"
ASSISTANT = (
    "id: '1'\nname: echo\npublished: true\nmodel: {connector: bypass, model: simple-bypass}\n"
    "prompt_template: '{user_input}'\n"
)
CONTRACTS = [contract for contracts in SERVICES.values() for contract in contracts]
REPORTS, PAUSE_SECONDS = 20, 1.0
"""How many reports of the services may be read, until one is complete."""
PORTS = [
    (module, SERVICES[name.lower()][0].full_name)
    for module, name in MODULES.items()
    if module != GATEWAY
]
"""Each service behind the gateway, and one of its contracts."""
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=["tls", pytest.param("sockets", marks=pytest.mark.exhaustive)],
)
async def heddle(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Processes]:
    folder = tmp_path_factory.mktemp("heddle")
    (folder / "assistants").mkdir()
    (folder / "assistants" / "1.yaml").write_text(ASSISTANT)
    short = Path(tempfile.mkdtemp())  # a socket's path has at most 107 characters
    settings = {"HEDDLE_IDENTITY_SECRET": SECRET}
    if request.param == "tls":
        settings |= Authority(folder).issue()
    if request.param == "sockets":
        for module, name in MODULES.items():
            if module != GATEWAY:
                settings |= dict.fromkeys(
                    (f"HEDDLE_{name}_LISTEN", f"HEDDLE_{name}_ADDRESS"), f"unix:{short}/{name}"
                )
    try:
        async with processes(folder, **settings) as running:
            yield running
    finally:
        shutil.rmtree(short)


async def test_all_services_work_together(heddle: Processes) -> None:
    async with httpx.AsyncClient(base_url=heddle.url, timeout=30, trust_env=False) as client:
        for stream in (False, True):
            messages = [{"role": "user", "content": "A heddle?"}]
            body = {"model": "echo", "messages": messages, "stream": stream}
            answer = await client.post("/v1/chat/completions", json=body)
            assert answer.status_code == 200, answer.text
            assert "A heddle?" in answer.text
        # A busy machine may take longer than the gateway waits for a report.
        details = await client.get("/health/details")
        for _ in range(REPORTS - 1):
            if "does not answer" in details.text:
                await asyncio.sleep(PAUSE_SECONDS)
                details = await client.get("/health/details")
        assert "does not answer" not in details.text
    command = [sys.executable, "-m", "heddle_cli", "assistants", "list"]
    listed = subprocess.run(  # noqa: ASYNC221, S603 - our own command, nothing else runs
        command, env={**os.environ, **heddle.environment}, capture_output=True, check=False
    )
    assert listed.returncode == 0, listed.stderr


@pytest.mark.parametrize(("module", "service"), PORTS)
async def test_tokens_that_are_not_valid_there_are_refused(
    heddle: Processes, module: str, service: str
) -> None:
    now = int(time.time())
    claims = {"sub": "operator", "scopes": ["admin"], "aud": service, "iat": now - 120}
    key = OctKey.import_key(SECRET)
    refused = {
        "no token": "",
        "another audience": TokenSigner(SECRET).token(OPERATOR, "heddle.other.v1.OtherService"),
        "expired": jwt.encode({"alg": "HS256"}, {**claims, "exp": now - 60}, key),
        "another secret": TokenSigner("b" * 40).token(OPERATOR, service),
        "no JWT": "x" * 40,
    }
    with heddle.channel(module) as channel:
        for token in refused.values():
            assert status(channel, service, token) == grpc.StatusCode.UNAUTHENTICATED
            assert stream_status(channel, token) == grpc.StatusCode.UNAUTHENTICATED
        valid = TokenSigner(SECRET).token(OPERATOR, service)
        assert status(channel, service, valid) != grpc.StatusCode.UNAUTHENTICATED
        assert stream_status(channel, TokenSigner(SECRET).token(OPERATOR, STREAMS)) == OK


@pytest.mark.parametrize("module", [module for module, _ in PORTS])
async def test_with_tls_other_connections_end_before_a_call(
    heddle: Processes, module: str, tmp_path: Path
) -> None:
    if "HEDDLE_TLS_CA" not in heddle.environment:
        pytest.skip("these services run without TLS")
    service = dict(PORTS)[module]
    token = TokenSigner(SECRET).token(OPERATOR, service)
    address = heddle.address(module)
    trusted = heddle.environment["HEDDLE_TLS_CA"]
    no_certificate = grpc.ssl_channel_credentials(await asyncio.to_thread(Path(trusted).read_bytes))
    other = TlsSettings(**{**Authority(tmp_path).issue(), "HEDDLE_TLS_CA": trusted}).tls  # type: ignore[arg-type] # pydantic reads the texts
    assert other is not None
    for channel in (
        grpc.insecure_channel(address),
        grpc.secure_channel(address, no_certificate),
        grpc.secure_channel(address, other.of_client()),
    ):
        with channel:
            assert status(channel, service, token) == grpc.StatusCode.UNAVAILABLE


async def test_the_command_says_which_settings_to_check(heddle: Processes) -> None:
    if "HEDDLE_TLS_CA" not in heddle.environment:
        pytest.skip("these services run without TLS")
    command = [sys.executable, "-m", "heddle_cli", "assistants", "list"]
    plain = {name: file for name, file in heddle.environment.items() if "_TLS_" not in name}
    listed = subprocess.run(  # noqa: ASYNC221, S603 - our own command, nothing else runs
        command, env={**os.environ, **plain}, capture_output=True, text=True, check=False
    )
    assert listed.returncode != 0
    assert "does not accept the connection" in listed.stderr
    assert "HEDDLE_TLS_CA" in listed.stderr


async def test_a_network_address_without_a_secret_is_refused() -> None:
    with pytest.raises(ValueError, match="HEDDLE_IDENTITY_SECRET"):
        ServiceSettings(listen="0.0.0.0:9101")


def stream_status(channel: grpc.Channel, token: str) -> grpc.StatusCode:
    """Return how a multiplexed stream without calls ends."""
    metadata = ((AUTHORIZATION, f"Bearer {token}"),) if token else ()
    stub = multiplex_pb2_grpc.MultiplexServiceStub(channel)
    try:
        for _ in stub.Carry(iter(()), timeout=5, metadata=metadata):
            pass
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK


@pytest.mark.parametrize(
    ("module", "name"), [each for each in MODULES.items() if each[0] != GATEWAY]
)
async def test_each_method_is_refused_without_a_token(
    heddle: Processes, module: str, name: str
) -> None:
    methods = [method for contract in SERVICES[name.lower()] for method in contract.methods]
    with heddle.channel(module) as channel:
        codes = {
            method.full_name: status(channel, method.containing_service.full_name, "", method)
            for method in methods
        }
    refused = grpc.StatusCode.UNAUTHENTICATED
    assert codes
    assert {name: code for name, code in codes.items() if code != refused} == {}


def status(
    channel: grpc.Channel, service: str, token: str, called: MethodDescriptor | None = None
) -> grpc.StatusCode:
    """Return how an empty call ends; of the first method that sends one response by default."""
    contract = next(each for each in CONTRACTS if each.full_name == service)
    name = next(each.name for each in contract.methods if not each.server_streaming)
    if called is not None:
        name = called.name
    method: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(f"/{service}/{name}")
    metadata = ((AUTHORIZATION, f"Bearer {token}"),) if token else ()
    try:
        method(b"", timeout=5, metadata=metadata)
    except grpc.RpcError as error:
        code: grpc.StatusCode = error.code()
        return code
    return grpc.StatusCode.OK
