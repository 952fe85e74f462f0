"""The state of a run of the routing agent, from the contract's shapes to those of authors."""

import json
from collections.abc import Iterable
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.struct_codec import from_struct

from heddle_tools_service.routing import Environment, FailedTool, Found, PastRun, TreeData
from heddle_tools_service.sdk import Tool


def tree_of(told: pb.TreeData) -> TreeData:
    """Return the state of a run as tools see it.

    Raises:
        InvalidRequestError: What should be the text of a JSON object is not.
    """
    environment = told.environment
    return TreeData(
        told.user_prompt,
        told.iterations,
        Environment(
            tuple(map(_found, environment.found)),
            tuple(
                FailedTool(each.tool, each.message, each.recoverable, each.suggestion)
                for each in environment.errors
            ),
            environment.estimated_tokens,
        ),
        tuple(
            PastRun(
                each.tool,
                _object(each.inputs_json or "{}", "inputs_json"),
                each.new_objects,
                each.failed,
            )
            for each in told.history
        ),
    )


def examples_of(tool: Tool) -> Iterable[pb.ToolExample]:
    """Return a tool's examples on the wire."""
    return [
        pb.ToolExample(
            request=each.request,
            arguments_json=json.dumps(dict(each.arguments), ensure_ascii=False),
        )
        for each in tool.examples
    ]


def _found(told: pb.FoundObjects) -> Found:
    objects = tuple(_object(text, "environment.found.objects_json") for text in told.objects_json)
    metadata = from_struct(told.metadata)
    return Found(told.tool, told.name or told.tool, objects, metadata, told.message)


def _object(text: str, path: str) -> dict[str, Any]:
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        violation = Violation(f"context.tree.{path}", "must be the text of one JSON object")
        raise InvalidRequestError("The state of the run cannot be read.", [violation])
    return read
