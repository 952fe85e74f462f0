"""What comes out of a run, in the form for frontends, as events."""

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.frontend_payloads import Error, Response, Result, ToolOutput, written
from heddle_runtime.struct_codec import from_struct

from heddle_orchestrator.agent.brief import Cited
from heddle_orchestrator.agent.environment import Failed, members


def found(tool: str, result: tool_pb2.ToolResult) -> Result:
    """Return what a tool found."""
    metadata = from_struct(result.metadata) if result.HasField("metadata") else {}
    objects = [members(text) for text in result.objects_json]
    return Result(objects, result.name, metadata, result.message, tool=tool)


def failed(tool: str, failure: Failed) -> Error:
    """Return how a tool failed."""
    return Error(failure.message, failure.recoverable, failure.suggestion, tool=tool)


def answered(text: str, cited: tuple[Cited, ...]) -> Response:
    """Return the answer."""
    return Response(text, [source.told() for source in cited])


def event(output: ToolOutput, query_id: str) -> pb.RunEvent:
    """Return an output as an event of the run."""
    told = output.to_frontend(query_id)
    payload = written(told["payload"])
    return pb.RunEvent(output=pb.Output(type=told["type"], query_id=query_id, payload_json=payload))
