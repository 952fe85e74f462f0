"""Whole translations, kept as files whose changes are reviewed.

`request.json` becomes `order.json` for the orchestrator; its `events.jsonl`, a batch a line, become
`response.sse` and `response.json`. `HEDDLE_GOLDEN=write` writes the results anew.
"""

import json
import os
from pathlib import Path

import msgspec
import pytest
from google.protobuf.json_format import MessageToJson, Parse
from heddle.orchestrator.v1.orchestrator_pb2 import RunCompletionResponse
from heddle_gateway.openai.chat.aggregation import Completion, StreamEncoder
from heddle_gateway.openai.chat.event_encoder import Answer
from heddle_gateway.openai.chat.request import parse_request

FOLDER = Path(__file__).parents[1] / "golden" / "gateway"
CASES = sorted(path.name for path in FOLDER.iterdir())


def check(path: Path, found: str) -> None:
    if os.environ.get("HEDDLE_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == found


@pytest.mark.parametrize("case", CASES)
def test_a_request_becomes_an_order(case: str) -> None:
    ordered = parse_request((FOLDER / case / "request.json").read_bytes())
    check(FOLDER / case / "order.json", MessageToJson(ordered.run, indent=2) + "\n")


@pytest.mark.parametrize("case", CASES)
def test_events_become_an_answer(case: str) -> None:
    ordered = parse_request((FOLDER / case / "request.json").read_bytes())
    about = "chatcmpl-1", 1_700_000_000, ordered.model
    frames = StreamEncoder(*about, Answer("r1"), usage=ordered.usage)
    answer = Completion(Answer("r1"), *about)
    sent = b""
    for line in (FOLDER / case / "events.jsonl").read_text(encoding="utf-8").splitlines():
        batch = Parse(json.dumps({"events": json.loads(line)}), RunCompletionResponse())
        sent += frames.encode(batch.events)
        answer.encode(batch.events)
    check(FOLDER / case / "response.sse", (sent + frames.end()).decode())
    check(FOLDER / case / "response.json", msgspec.json.format(answer.body()).decode() + "\n")
