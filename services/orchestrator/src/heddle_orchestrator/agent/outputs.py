"""What comes out of a run, in the form for frontends."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.struct_pb2 import Struct
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.redaction import redact
from heddle_runtime.structs import from_struct

from heddle_orchestrator.agent.brief import Cited
from heddle_orchestrator.agent.environment import Failed, members

_LONGEST_TEXT = 2_000


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool found."""

    tool: str
    name: str
    objects: Sequence[str]
    """The text of one JSON object each."""
    metadata: Struct
    message: str

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the result as clients show it."""
        payload = {
            "tool": self.tool,
            "name": self.name,
            "objects": [_short(members(text)) for text in self.objects],
            "metadata": from_struct(self.metadata),
            "llm_message": self.message,
        }
        return _told("result", query_id, payload)


@dataclass(frozen=True, slots=True)
class Error:
    """How a tool failed."""

    tool: str
    failed: Failed

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the failure as clients show it."""
        payload = {
            "tool": self.tool,
            "message": self.failed.message,
            "recoverable": self.failed.recoverable,
            "suggestion": self.failed.suggestion,
        }
        return _told("error", query_id, payload)


@dataclass(frozen=True, slots=True)
class Response:
    """The answer."""

    text: str
    sources: Sequence[Cited] = ()

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the answer as clients show it."""
        payload = {"text": self.text, "sources": [source.told() for source in self.sources]}
        return _told("response", query_id, payload)


@dataclass(frozen=True, slots=True)
class Status:
    """Progress."""

    message: str

    def to_frontend(self, query_id: str) -> dict[str, Any]:
        """Return the progress as clients show it."""
        return _told("status", query_id, {"message": self.message})


def event(output: Result | Error | Response | Status, query_id: str) -> pb.RunEvent:
    """Return an output as an event of the run."""
    told = output.to_frontend(query_id)
    payload = json.dumps(told["payload"], ensure_ascii=False)
    if not isinstance(output, Response):  # which is what the model said, and shown anyway
        payload = redact(payload)
    return pb.RunEvent(output=pb.Output(type=told["type"], query_id=query_id, payload_json=payload))


def _told(kind: str, query_id: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "query_id": query_id, "payload": payload}


def _short(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return {name: _short(inner) for name, inner in value.items()}
        case list():
            return [_short(inner) for inner in value]
        case str() if len(value) > _LONGEST_TEXT:
            return value[: _LONGEST_TEXT - 1] + "…"
        case _:
            return value
