"""The strategies and prompt processors that an editor of assistants offers."""

import json
from typing import Any

import pytest
from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.orchestrator.v1 import orchestrator_pb2_grpc as pb_grpc
from heddle_runtime.contract.json_schema import Schema
from heddle_runtime.identity.call_metadata import new_call_options
from orchestrator.harness import Harness

FIELDS = assistant_pb2.Assistant.DESCRIPTOR.fields_by_name


@pytest.mark.parametrize("method", ["strategies", "prompt_processors"])
async def test_every_part_has_a_schema_of_members_of_an_assistant(
    harness: Harness, method: str
) -> None:
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    listed: Any
    if method == "strategies":
        listed = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(10))
    else:
        request = pb.ListPromptProcessorsRequest()
        listed = await stub.ListPromptProcessors(request, **new_call_options(10))
    parts = getattr(listed, method)
    assert parts
    for part in parts:
        schema = json.loads(part.settings_schema_json)
        Schema(schema)
        for name, described in schema["properties"].items():
            assert name in FIELDS
            assert described["title"]


async def test_only_strategies_with_a_router_run_tools_of_the_agent(harness: Harness) -> None:
    stub = pb_grpc.OrchestratorServiceStub(harness.orchestrator)
    listed = await stub.ListStrategies(pb.ListStrategiesRequest(), **new_call_options(10))
    runs = {each.name: each.runs_agent_tools for each in listed.strategies}
    assert runs["agent_rules"]
    assert not runs["parallel"]
