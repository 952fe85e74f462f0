"""Mutual TLS between services: who is connected, and who is refused."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import grpc
import pytest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.identity.call_metadata import new_call_options
from heddle_runtime.rpc.client import channel
from heddle_runtime.serving.health import healthy
from heddle_runtime.settings.mutual_tls import TlsFiles, TlsSettings
from heddle_runtime.settings.service import ServiceSettings, read
from runtime.certificates import Authority
from runtime.greeting import CONTRACT, Greeter, ask, greeting
from runtime.replicas.counting import counting


def files(settings: Mapping[str, str]) -> TlsFiles | None:
    return TlsSettings(**settings).tls  # type: ignore[arg-type] # pydantic reads the texts


def served(settings: Mapping[str, str], *, multiplexing: bool = True) -> ServiceSettings:
    return ServiceSettings(drain_wait=0, HEDDLE_MULTIPLEXING=multiplexing, **settings)  # type: ignore[arg-type,call-arg] # as above


def greeter() -> Greeter:
    return Greeter()  # type: ignore[abstract] # it does not offer every method


@pytest.mark.parametrize("multiplexing", [True, False])
async def test_services_of_one_authority_call_each_other(
    tmp_path: Path, multiplexing: bool
) -> None:
    authority = Authority(tmp_path)
    settings = served(authority.issue(), multiplexing=multiplexing)
    async with (
        greeting(greeter(), settings) as server,
        channel(server.address, CONTRACT, tls=files(authority.issue("caller"))) as to,
    ):
        await to.channel_ready()
        stub = pb_grpc.OrchestratorServiceStub(to)
        response = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))
        events = [each async for each in stub.RunCompletion(ask("20"), **new_call_options(5))]

    assert response.strategies
    assert "".join(each.events[0].text_delta for each in events).endswith("x" * 20)


@pytest.mark.parametrize(
    "caller", ["plain text", "no certificate", "another authority", "trusts another authority"]
)
async def test_other_callers_are_refused(tmp_path: Path, caller: str) -> None:
    own, other = Authority(tmp_path), Authority(tmp_path, "other")
    mixed = {**other.issue(), "HEDDLE_TLS_CA": str(own.file)}
    async with greeting(greeter(), served(own.issue())) as server:
        match caller:
            case "plain text":
                to = channel(server.address, CONTRACT)
            case "no certificate":
                trusted = grpc.ssl_channel_credentials(own.file.read_bytes())
                to = grpc.aio.secure_channel(server.address, trusted)
            case "another authority":
                to = channel(server.address, CONTRACT, tls=files(mixed))
            case _:
                to = channel(server.address, CONTRACT, tls=files(other.issue()))
        assert await refused(to)


async def test_a_caller_with_tls_sends_nothing_to_a_server_without(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    async with greeting(greeter(), ServiceSettings(drain_wait=0)) as server:
        assert await refused(channel(server.address, CONTRACT, tls=files(authority.issue())))


async def test_a_certificate_for_another_host_is_refused(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    settings = served(authority.issue("knowledge.example"))
    async with greeting(greeter(), settings) as server:
        assert await refused(channel(server.address, CONTRACT, tls=files(authority.issue())))


async def test_a_replica_that_shows_another_authority_gets_no_calls(tmp_path: Path) -> None:
    own, other = Authority(tmp_path), Authority(tmp_path, "other")
    async with (
        greeting(greeter(), served(own.issue())) as first,
        greeting(greeter(), served(own.issue())) as second,
        greeting(stranger := greeter(), served(other.issue())) as third,
    ):
        ports = [each.address for each in (third, first, second)]
        async with channel(f"ipv4:{','.join(ports)}", CONTRACT, tls=files(own.issue())) as to:
            stub = pb_grpc.OrchestratorServiceStub(to)
            for _ in range(20):
                await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))

    assert stranger.asked == []


async def test_replicas_behind_names_show_certificates_of_their_names(tmp_path: Path) -> None:
    own = Authority(tmp_path)
    named, other = served(own.issue("localhost")), served(own.issue("knowledge.example"))
    async with (
        greeting(first := counting(), named) as one,
        greeting(second := counting(), named) as two,
        greeting(third := counting(), other) as three,
    ):
        ports = [each.address.rpartition(":")[2] for each in (one, two, three)]
        addresses = ",".join(f"localhost:{port}" for port in ports)
        async with channel(addresses, CONTRACT, tls=files(own.issue())) as to:
            await to.channel_ready()
            stub = pb_grpc.OrchestratorServiceStub(to)
            for _ in range(20):
                await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(5))

    assert (first.calls, second.calls, third.calls) == (10, 10, 0)


async def test_health_checks_use_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = Authority(tmp_path)
    async with greeting(greeter(), served(authority.issue())) as server:
        assert not await asyncio.to_thread(healthy, server.address)
        for name, value in authority.issue().items():
            monkeypatch.setenv(name, value)
        assert await asyncio.to_thread(healthy, server.address)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"HEDDLE_TLS_CA": ""}, "mutual TLS needs three files: set HEDDLE_TLS_CA, too"),
        ({"HEDDLE_TLS_KEY": "other.key"}, "must be PEM files with a certificate and its key"),
        ({"HEDDLE_TLS_KEY": "absent"}, "HEDDLE_TLS_KEY: cannot read absent: No such file"),
        ({"HEDDLE_TLS_KEY": "text"}, "must be PEM files with a certificate and its key"),
        ({"HEDDLE_TLS_CERTIFICATE": "text"}, "must be PEM files with a certificate and its key"),
        ({"HEDDLE_TLS_CA": "text"}, "HEDDLE_TLS_CA must be a PEM file with the certificate"),
    ],
)
def test_files_that_do_not_fit_are_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict[str, str],
    message: str,
) -> None:
    authority = Authority(tmp_path)
    monkeypatch.chdir(tmp_path)
    Path(authority.issue()["HEDDLE_TLS_KEY"]).rename("other.key")
    Path("text").write_text("no certificate")
    for name, value in {**authority.issue(), **change}.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(SystemExit):
        read(ServiceSettings, [])

    assert message in capsys.readouterr().err


async def refused(to: grpc.aio.Channel) -> bool:
    """Return whether a call ends with UNAVAILABLE, and close the channel."""
    async with to:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await pb_grpc.OrchestratorServiceStub(to).ListStrategies(
                pb.ListStrategiesRequest(), **new_call_options(5)
            )
    return caught.value.code() == grpc.StatusCode.UNAVAILABLE
