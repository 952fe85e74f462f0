"""Threat 35: code of a service works for no caller, and calls other services all the same.

Behind the gateway there is no operator by default: each service refuses each method to a call
without an identity, also in one process, where no token travels.
"""

import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
import pytest
import pytest_asyncio
from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.identity import signed_tokens
from heddle_runtime.identity.call_metadata import AUTHORIZATION, Caller, calling_as
from heddle_runtime.identity.callers import DEVELOPER, NO_IDENTITY, Identity, TokenSigner
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.server import Running
from heddle_runtime.serving.server import running as start
from heddle_runtime.settings.local_secret import OF_THIS_PROCESS
from integration.access.deployments import ADDRESSES, rpcs
from integration.whole import whole
from pydantic import SecretStr
from runtime.examples import sampled

pytestmark = pytest.mark.asyncio(loop_scope="module")
SECRET = "a-secret-of-at-least-32-characters"
REFUSED = "UNAUTHENTICATED"
METHODS = list(rpcs().values())
STREAMS = "heddle.multiplex.v1.MultiplexService"


@dataclass(frozen=True)
class Services:
    """The services of one process, by the name of their packages, and their secret."""

    running: dict[str, Running]
    secret: str

    def of(self, method: MethodDescriptor) -> Running:
        """Return the service of a method."""
        package = method.containing_service.full_name.split(".")[1]
        return self.running[ADDRESSES[package].removeprefix("heddle_").removesuffix("_service")]


@pytest_asyncio.fixture(
    scope="module",
    loop_scope="module",
    params=["a secret", "development", "keys", "a network"],
)
async def services(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Services]:
    """All services in one process.

    They listen on loopback with a secret of the operator, without one, or without one beside a
    gateway with keys; or they listen on a network.
    """
    several: list[Running] = []
    folder = tmp_path_factory.mktemp("heddle")
    secret = SECRET if request.param in ("a secret", "a network") else ""
    gateway: dict[str, Any] = {}

    def recorded(*settings: Any) -> Any:
        return _Recorded(start(*settings), several)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEDDLE_IDENTITY_SECRET", secret)
        patch.setattr("heddle_devstack.running", recorded)
        if request.param == "a network":
            patch.setattr("integration.whole.ANYWHERE", "0.0.0.0:0")
        if request.param == "keys":
            secret = OF_THIS_PROCESS.get_secret_value()
            patch.setattr(OF_THIS_PROCESS, "_marker", folder / "required")
        if request.param in ("keys", "a network"):
            keys = folder / "keys.json"
            keys.write_text(json.dumps({"lamb_key_0123456789abcdef": {"subject": "ann"}}))
            gateway = {"development": False, "api_keys": keys}
        async with whole(folder, "local", **gateway) as heddle:
            addresses = {
                name: getattr(heddle.stack, name)
                for name in heddle.stack.__slots__
                if name not in ("gateway", "optional") and not name.startswith("to_")
            }
            addresses |= heddle.stack.optional
            by_address = {each.address: each for each in several}
            names = {name: by_address[address] for name, address in addresses.items()}
            yield Services(names, secret)


class _Recorded:
    """Starts a service and adds it to a list."""

    def __init__(self, service: Any, several: list[Running]) -> None:
        self._service = service
        self._several = several

    async def __aenter__(self) -> Running:
        running: Running = await self._service.__aenter__()
        self._several.append(running)
        return running

    async def __aexit__(self, *error: object) -> None:
        await self._service.__aexit__(*error)


async def outcome(
    to: grpc.aio.Channel, method: MethodDescriptor, identity: Identity, token: str = ""
) -> str:
    """Return the reason of the refusal of an empty call; "" if the service carries it out."""
    path = f"/{method.containing_service.full_name}/{method.name}"
    coders: Sequence[Callable[..., Any]] = (
        GetMessageClass(method.input_type).SerializeToString,
        GetMessageClass(method.output_type).FromString,
    )
    request = GetMessageClass(method.input_type)()
    options: Any = {"timeout": 5}
    if token:
        options["metadata"] = ((AUTHORIZATION, f"Bearer {token}"),)
    try:
        with calling_as(Caller("", identity)):
            if not method.server_streaming:
                await to.unary_unary(path, *coders)(request, **options)
            else:
                call: Any = to.unary_stream(path, *coders)(request, **options)
                async for _ in call:
                    break
    except grpc.aio.AioRpcError as error:
        return from_rpc(error).reason
    except HeddleError as error:
        return error.reason
    return ""


async def test_in_one_process_each_method_is_refused_without_an_identity(
    services: Services,
) -> None:
    outcomes = {
        method.full_name: await outcome(services.of(method).local, method, NO_IDENTITY)
        for method in METHODS
    }
    assert len(outcomes) > 100
    assert {name: each for name, each in outcomes.items() if each != REFUSED} == {}


class _CallsWithoutTokens(TokenSigner):
    """Signs what opens a stream, and no call."""

    def token(self, identity: Identity, audience: str) -> str:
        return super().token(identity, audience) if audience == STREAMS else ""


@pytest.mark.parametrize("multiplexed", sampled([True, False], 1))
async def test_between_processes_each_method_is_refused_without_a_token(
    services: Services, *, multiplexed: bool
) -> None:
    if not services.secret:
        pytest.skip("such a service takes calls without a token for those of the developer")
    for service in services.running.values():
        async with (
            channel(service.address, secret=SecretStr(services.secret)) as streams,
            grpc.aio.insecure_channel(service.address) as plain,
        ):
            await streams.channel_ready()
            streams._signer = _CallsWithoutTokens(services.secret)  # type: ignore[attr-defined] # noqa: SLF001 - its own signer refuses
            outcomes = {
                method.full_name: await outcome(
                    streams if multiplexed else plain, method, DEVELOPER
                )
                for method in METHODS
                if services.of(method) is service
            }
        assert {name: each for name, each in outcomes.items() if each != REFUSED} == {}


async def test_each_method_refuses_tokens_that_are_not_valid_there(services: Services) -> None:
    secret = services.secret or OF_THIS_PROCESS.get_secret_value()
    outcomes: dict[str, str] = {}
    for service in services.running.values():
        async with grpc.aio.insecure_channel(service.address) as plain:
            for method in (each for each in METHODS if services.of(each) is service):
                audience = method.containing_service.full_name
                claims = {"sub": "developer", "scopes": ["admin"], "aud": audience}
                times = {"iat": time.time() - 120, "exp": time.time() - 60}
                tokens = {
                    "expired": signed_tokens.signed(claims | times, secret.encode()),
                    "of another service": TokenSigner(secret).token(DEVELOPER, STREAMS),
                    "of another secret": TokenSigner("b" * 40).token(DEVELOPER, audience),
                }
                outcomes |= {
                    f"{method.full_name}, {kind}": await outcome(plain, method, DEVELOPER, token)
                    for kind, token in tokens.items()
                }
    assert {name: each for name, each in outcomes.items() if each != REFUSED} == {}


async def test_a_channel_sends_no_call_without_an_identity(services: Services) -> None:
    secret = SecretStr(services.secret or "s" * 32)
    for service in services.running.values():
        async with channel(service.address, secret=secret) as to:
            outcomes = {
                method.full_name: await outcome(to, method, NO_IDENTITY)
                for method in METHODS
                if services.of(method) is service
            }
        assert {name: each for name, each in outcomes.items() if each != REFUSED} == {}
