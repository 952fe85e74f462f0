"""Events that carry the results, errors and answer of a run to frontends."""

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.frontend_payloads import Error, Result, ToolOutput, written
from heddle_runtime.contract.json_text import members
from heddle_runtime.contract.struct_codec import from_struct


def result(tool: str, tool_result: tool_pb2.ToolResult) -> Result:
    """Return the result of a tool for frontends."""
    metadata = from_struct(tool_result.metadata) if tool_result.HasField("metadata") else {}
    objects = [members(text) for text in tool_result.objects_json]
    return Result(objects, tool_result.name, metadata, tool_result.message, tool=tool)


def error(failure: tool_pb2.EnvironmentError) -> Error:
    """Return the error of a tool for frontends."""
    return Error(failure.message, failure.recoverable, failure.suggestion, tool=failure.tool)


def event(output: ToolOutput, query_id: str) -> pb.RunEvent:
    """Return an output as an event of the run."""
    frontend = output.to_frontend(query_id)
    payload = written(frontend["payload"])
    return pb.RunEvent(
        output=pb.Output(type=frontend["type"], query_id=query_id, payload_json=payload)
    )
