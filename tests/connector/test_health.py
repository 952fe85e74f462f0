"""What the connector service reports of its providers."""

from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from heddle.health.v1 import health_pb2 as pb
from heddle.health.v1 import health_pb2_grpc as pb_grpc
from heddle_connector.app import ConnectorSettings, app
from heddle_runtime.rpc.in_process import InProcessChannel
from heddle_runtime.serving.server import running

from connector.provider import Exchange, provider


async def providers(monkeypatch: pytest.MonkeyPatch, url: str) -> tuple[pb.Component, int]:
    """Return the component of the providers, and the status for load balancers."""
    monkeypatch.setenv("HEDDLE_CONNECTOR_OPENAI_BASE_URL", url)
    monkeypatch.setenv("HEDDLE_CONNECTOR_LOCAL_MODEL_PATH", "/nowhere.gguf")
    settings = ConnectorSettings.model_validate({"listen": "127.0.0.1:0", "drain_wait": 0})
    async with (
        running(app(settings, InProcessChannel()), settings) as server,
        grpc.aio.insecure_channel(server.address) as to,
    ):
        response = await pb_grpc.HealthServiceStub(to).GetHealth(pb.GetHealthRequest(), timeout=10)
        check = health_pb2_grpc.HealthStub(to).Check  # type: ignore[attr-defined] # its stubs lack methods
        status = await check(health_pb2.HealthCheckRequest(), timeout=10)
        (component,) = [each for each in response.components if each.name == "providers"]
        return component, status.status


async def test_a_service_without_any_provider_says_so_and_stays_in_rotation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    component, status = await providers(monkeypatch, "http://127.0.0.1:9/v1")
    assert not component.ready
    assert component.problem.startswith("No model provider can be used.")
    assert "openai: http://127.0.0.1:9/v1/models" in component.problem
    assert status == health_pb2.HealthCheckResponse.SERVING


async def test_one_provider_that_answers_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(exchange: Exchange) -> None:
        await exchange.reply(200, '{"data": [{"id": "m"}]}')

    async with provider(script) as fake:
        component, _ = await providers(monkeypatch, f"{fake.url}/v1")
    assert (component.ready, component.problem) == (True, "")


PLUGIN = '''
from heddle_connector.sdk import Connector, Done, Model, NoSettings, TextDelta, Usage, connector

@connector("shows", for_all_organizations=True, uses_model={uses_model})
class Shows(Connector[NoSettings]):
    """Shows something."""

    async def models(self, seconds):
        return [Model("one")]

    async def generate(self, call):
        yield [TextDelta("text"), Done("stop", Usage(), "one")]
'''


@pytest.mark.parametrize("uses_model", [True, False])
async def test_a_connector_declares_whether_it_is_a_provider(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, uses_model: bool
) -> None:
    (tmp_path / "shows.py").write_text(PLUGIN.format(uses_model=uses_model))
    monkeypatch.setenv("HEDDLE_CONNECTOR_PLUGINS_DIR", str(tmp_path))
    component, _ = await providers(monkeypatch, "http://127.0.0.1:9/v1")
    assert component.ready == uses_model
