"""`/tools/{name}/run`, and at the path of LAMB."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from gateway.conftest import Bench
from heddle.chat.v1.chat_pb2 import ContentPart
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import InvalidRequestError, ToolFailedError, Violation

PATH = "/tools/rubric/run"
STATUS = tool_pb2.ExecuteToolResponse(status=tool_pb2.ToolStatus(message="reading"))
RESULT = tool_pb2.ExecuteToolResponse(
    result=tool_pb2.ToolResult(
        parts=[ContentPart(text="A rubric.")],
        slot="rubric",
        warnings=["One is missing."],
        sources=[tool_pb2.Source(title="Essay", attributes={"page": "2"})],
    )
)


def events(text: str) -> Sequence[dict[str, Any]]:
    *data, end = [each.removeprefix("data: ") for each in text.split("\n\n") if each]
    assert end == "[DONE]"
    return [json.loads(each) for each in data]


@pytest.mark.parametrize("path", [PATH, f"/lamb/v1/completions{PATH}"])
async def test_a_tool_runs_alone(bench: Bench, path: str) -> None:
    bench.neighbours.tools.script = [STATUS, RESULT]
    body = {"config": {"rubric_id": 7}, "question": "What is good?"}
    response = await bench.client.post(path, json=body)
    assert response.status_code == 200, response.text
    assert response.json() == {
        "text": "A rubric.",
        "slot": "rubric",
        "seconds": 0.0,
        "result_count": None,
        "sources": [
            {
                "title": "Essay",
                "uri": "",
                "excerpt": "",
                "score": None,
                "kind": "",
                "attributes": {"page": "2"},
            }
        ],
        "warnings": ["One is missing."],
        "metadata": {},
    }
    [request] = bench.neighbours.tools.requests
    assert request.invocation.config["rubric_id"] == 7
    assert not request.invocation.HasField("function_call")
    assert request.context.messages[0].parts[0].text == "What is good?"
    assert request.context.assistant.owner == "operator"
    assert not request.context.grant


async def test_the_progress_of_a_tool_is_streamed(bench: Bench) -> None:
    bench.neighbours.tools.script = [STATUS, 0.01, STATUS, RESULT]
    response = await bench.client.post(PATH, json={"stream": True})
    assert response.headers["content-type"] == "text/event-stream"
    *statuses, result = events(response.text)
    assert statuses == [{"type": "status", "data": {"message": "reading"}}] * 2
    assert (result["type"], result["data"]["text"]) == ("result", "A rubric.")


async def test_a_tool_is_called_with_arguments_as_they_were_written(bench: Bench) -> None:
    bench.neighbours.tools.script = [RESULT]
    body = b'{"arguments": {"n": 12345678901234567890, "a": 1.0}}'
    response = await bench.client.post(PATH, content=body)
    assert response.status_code == 200, response.text
    called = bench.neighbours.tools.requests[0].invocation.function_call
    assert called.name == "use_rubric"
    assert called.arguments_json == '{"n": 12345678901234567890, "a": 1.0}'


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failure_before_the_first_event_has_its_status(
    bench: Bench, *, stream: bool
) -> None:
    violation = Violation("config.rubric_id", "is required")
    bench.neighbours.tools.script = [InvalidRequestError("Wrong.", [violation])]
    response = await bench.client.post(PATH, json={"stream": stream})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == "config.rubric_id"


async def test_a_failure_after_the_first_event_ends_the_stream(bench: Bench) -> None:
    bench.neighbours.tools.script = [STATUS, ToolFailedError("The rubric is gone.")]
    *_, last = events((await bench.client.post(PATH, json={"stream": True})).text)
    assert last["error"]["message"].startswith("The rubric is gone.")


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        (PATH.replace("rubric", "nothing"), {}, 404),
        (PATH, {"config": 7}, 400),
        (PATH, {"arguments": []}, 400),
        (PATH, {"configuration": {}}, 400),
    ],
)
async def test_wrong_requests_are_refused(
    bench: Bench, path: str, body: dict[str, Any], status: int
) -> None:
    assert (await bench.client.post(path, json=body)).status_code == status
    assert not bench.neighbours.tools.requests
