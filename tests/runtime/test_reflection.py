"""`heddle_runtime.serving.reflection`: grpcurl and buf read the contracts from a server."""

import asyncio
import sys
from pathlib import Path

import pytest
from heddle_runtime.identity.callers import OPERATOR, TokenSigner
from heddle_runtime.settings.service import ServiceSettings
from pydantic import SecretStr
from runtime.greeting import Greeter, greeting

PROGRAMS = Path(sys.executable).parent
SERVICE = "heddle.orchestrator.v1.OrchestratorService"
SECRET = "a-secret-of-at-least-32-characters"
REFLECTION = "grpc.reflection.v1.ServerReflection"


async def output(program: str, *arguments: str) -> str:
    process = await asyncio.create_subprocess_exec(
        PROGRAMS / program,
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    text, _ = await asyncio.wait_for(process.communicate(), 30)
    return text.decode()


@pytest.mark.parametrize(
    ("symbol", "line"),
    [
        (f"{SERVICE}.ListStrategies", "rpc ListStrategies ("),
        (SERVICE, "service OrchestratorService {"),
        ("heddle.orchestrator.v1.RunEvent.status", "heddle.orchestrator.v1.RunEvent.status is"),
        (REFLECTION, "rpc ServerReflectionInfo ("),
    ],
)
async def test_grpcurl_describes_methods_services_and_fields(symbol: str, line: str) -> None:
    async with greeting(Greeter(), ServiceSettings(drain_wait=0)) as server:  # type: ignore[abstract] # it does not offer every method
        text = await output("grpcurl", "-plaintext", server.address, "describe", symbol)
    assert line in text


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
async def test_both_versions_of_reflection_list_the_services(version: str) -> None:
    async with greeting(Greeter(), ServiceSettings(drain_wait=0)) as server:  # type: ignore[abstract] # it does not offer every method
        text = await output(
            "buf",
            "curl",
            "--http2-prior-knowledge",
            "--protocol=grpc",
            f"--reflect-protocol=grpc-{version}",
            "--list-services",
            f"http://{server.address}",
        )
    assert SERVICE in text.splitlines()
    assert f"grpc.reflection.{version}.ServerReflection" in text.splitlines()


async def test_an_unknown_symbol_is_reported() -> None:
    async with greeting(Greeter(), ServiceSettings(drain_wait=0)) as server:  # type: ignore[abstract] # it does not offer every method
        text = await output("grpcurl", "-plaintext", server.address, "describe", f"{SERVICE}.Nap")
    assert "Symbol not found" in text


async def test_a_server_on_a_network_describes_itself_to_callers_with_a_token_only() -> None:
    settings = ServiceSettings(
        listen="0.0.0.0:0",
        identity_secret=SecretStr(SECRET),
        drain_wait=0,
    )
    signer = TokenSigner(SECRET)
    async with greeting(Greeter(), settings) as server:  # type: ignore[abstract] # it does not offer every method
        texts = [
            await output(
                *("grpcurl", "-plaintext", "-H", f"authorization: Bearer {token}"),
                *(server.address, "list"),
            )
            for token in ("", "wrong", *(signer.token(OPERATOR, name) for name in (SERVICE, "x")))
        ]

    assert [SERVICE in text.splitlines() for text in texts] == [False, False, True, False]
    assert ["Unauthenticated" in text for text in texts] == [True, True, False, True]
