"""Converts the state of a run of the routing agent from the contract to the SDK's types."""

import json
from collections.abc import Iterable
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.contract.struct_codec import from_struct
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_tools_service.routing import Environment, FailedTool, PastRun, ToolObjects, TreeData
from heddle_tools_service.sdk import Tool


def tree_of(message: pb.TreeData) -> TreeData:
    """Return the state of a run as tools see it.

    Raises:
        InvalidRequestError: What should be the text of a JSON object is not.
    """
    environment = message.environment
    return TreeData(
        message.user_prompt,
        message.iterations,
        Environment(
            tuple(map(_tool_objects, environment.findings)),
            tuple(
                FailedTool(each.tool, each.message, each.recoverable, each.suggestion)
                for each in environment.errors
            ),
            environment.estimated_tokens,
        ),
        tuple(map(_past_run, message.history)),
        message.query or message.user_prompt,
    )


def examples_of(tool: Tool) -> Iterable[pb.ToolExample]:
    """Return a tool's examples as messages of the contract."""
    return [
        pb.ToolExample(
            request=each.request,
            arguments_json=json.dumps(dict(each.arguments), ensure_ascii=False),
        )
        for each in tool.examples
    ]


def _tool_objects(message: pb.Finding) -> ToolObjects:
    objects = tuple(
        _object(text, "environment.findings.objects_json") for text in message.objects_json
    )
    metadata = from_struct(message.metadata)
    return ToolObjects(
        message.tool, message.name or message.tool, objects, metadata, message.message
    )


def _past_run(message: pb.PastRun) -> PastRun:
    inputs = _object(message.inputs_json or "{}", "inputs_json")
    return PastRun(message.tool, inputs, message.new_objects, message.failed)


def _object(text: str, path: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        violation = Violation(f"context.tree.{path}", "must be the text of one JSON object")
        raise InvalidRequestError("The state of the run cannot be read.", [violation])
    return value
