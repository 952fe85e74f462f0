"""What a run has found so far: each thing once, and so much of it."""

import json

import pytest
from heddle.tool.v1 import tool_pb2
from heddle_orchestrator.agent.environment import Environment


def test_equal_content_is_known_whatever_its_rank() -> None:
    environment = Environment()
    first = tool_pb2.ToolResult(objects_json=['{"text": "a  b", "score": 0.5}'], name="manual")
    again = tool_pb2.ToolResult(objects_json=['{"score": 0.1, "text": "a b"}'], name="manual")

    assert environment.add("fast", first) == 1
    assert environment.add("fast", again) == 0
    assert environment.add("hybrid", again) == 0
    assert len(environment.find("fast")) == len(environment.find("hybrid", "manual")) == 1
    assert environment.find("fast", "other") == ()
    assert len(environment.objects()) == 1


def test_an_environment_of_empty_results_is_empty() -> None:
    environment = Environment()
    environment.add("fast", tool_pb2.ToolResult(name="manual"))

    assert environment.is_empty()
    assert environment.find("fast") == ()
    assert environment.estimate_tokens() == 0


@pytest.mark.parametrize(("size", "tokens"), [(120_000 - 12, 30_000), (120_000 - 11, 30_001)])
def test_tokens_are_estimated_by_bytes(size: int, tokens: int) -> None:
    environment = Environment()
    environment.add("fast", tool_pb2.ToolResult(objects_json=[json.dumps({"text": "x" * size})]))

    assert environment.estimate_tokens() == tokens


def test_an_environment_has_a_largest_size() -> None:
    environment = Environment(max_bytes=100)
    objects = [json.dumps({"text": letter * 40}) for letter in "abc"]

    environment.add("fast", tool_pb2.ToolResult(objects_json=objects))

    assert len(environment.find("fast")) == 1
    assert environment.left_out == 2
