"""A connector that declares nothing for organisations, as clients of an organisation meet it."""

import json
from pathlib import Path
from typing import Any

import pytest
from heddle.assistant.v1 import assistant_pb2, assistant_pb2_grpc
from heddle_runtime.http.egress import SETTING
from heddle_runtime.rpc.client import channel as connected
from integration.browser import browser
from integration.provider import providing
from integration.test_organizations import SECRET, Operator, bearer, signed
from integration.whole import whole
from pydantic import SecretStr

CONNECTOR = '''
from heddle_connector.sdk import Connector, Done, Model, Settings, TextDelta, connector
from pydantic import Field

class InhouseSettings(Settings, env_prefix="HEDDLE_CONNECTOR_INHOUSE_"):
    token: str = Field(default="", description="What opens the server.")

@connector("inhouse", settings=InhouseSettings DECLARATION)
class Inhouse(Connector[InhouseSettings]):
    """Asks a server of the operator."""

    async def models(self, seconds):
        return [Model("inhouse-1")]

    async def generate(self, call):
        yield [TextDelta(f"paid with {self.settings.token}"), Done("stop")]
'''


async def answers(
    folder: Path, monkeypatch: pytest.MonkeyPatch, declaration: str, *, stream: bool
) -> tuple[Any, list[str]]:
    """Return what a member's assistant answers, and the connectors that the member can choose."""
    (folder / "connectors").mkdir()
    source = CONNECTOR.replace(" DECLARATION", declaration)
    (folder / "connectors" / "inhouse.py").write_text(source)
    monkeypatch.setenv("HEDDLE_CONNECTOR_PLUGINS_DIR", str(folder / "connectors"))
    monkeypatch.setenv("HEDDLE_CONNECTOR_INHOUSE_TOKEN", "the operator's token")
    monkeypatch.setenv("HEDDLE_IDENTITY_SECRET", SECRET)
    monkeypatch.setenv(SETTING, "127.0.0.0/8")
    async with (
        providing() as provider,
        whole(folder, "grpc") as heddle,
        connected(heddle.stack.assistants, secret=SecretStr(SECRET)) as channel,
        browser(heddle.url, timeout=30) as client,
    ):
        key = await Operator(channel).organization("uni", provider)
        assistant = assistant_pb2.Assistant(
            name="tutor",
            owner="ann@uni.example",
            model=assistant_pb2.ModelRef(connector="inhouse", model="inhouse-1"),
        )
        stub = assistant_pb2_grpc.AssistantServiceStub(channel)
        request = assistant_pb2.CreateAssistantRequest(assistant=assistant)
        created = await stub.CreateAssistant(request, **signed())
        body = {
            "model": f"lamb_assistant.{created.assistant.id}",
            "messages": [{"role": "user", "content": "?"}],
            "stream": stream,
        }
        answer = await client.post("/v1/chat/completions", json=body, headers=bearer(key))
        lists = await client.get("/lamb/v1/completions/list", headers=bearer(key))
    return answer, list(lists.json()["connectors"])


@pytest.mark.exhaustive
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_member_is_refused_and_the_connector_is_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    answer, connectors = await answers(tmp_path, monkeypatch, "", stream=stream)

    assert "the operator's token" not in answer.text
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (501, "not_set_up")
    assert "The connector 'inhouse' is not available to organisations" in error["message"]
    assert "openai" in connectors
    assert "inhouse" not in connectors


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_a_connector_for_all_answers_and_is_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, stream: bool
) -> None:
    declaration = ", for_all_organizations=True"
    answer, connectors = await answers(tmp_path, monkeypatch, declaration, stream=stream)

    assert answer.status_code == 200
    assert json.dumps("paid with the operator's token")[1:-1] in answer.text
    assert "inhouse" in connectors
