"""The results of asking services about the connectors and tools of assistants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from heddle.assistant.v1 import assistant_pb2
from heddle.connector.v1 import connector_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.errors import Violation


@dataclass(frozen=True, slots=True)
class Installed:
    """The connectors, and the violations of bindings. None: the service cannot be reached."""

    connectors: Mapping[str, connector_pb2.Connector] | None
    """The connectors by name."""
    bindings: Mapping[bytes, Sequence[Violation]] | None
    """By `key_of`; the fields are `name`, `mode` or a path that begins with `config`."""


def tool_request(binding: assistant_pb2.ToolBinding) -> tool_pb2.ValidateToolConfigRequest:
    """Return the request to check a binding."""
    mode = binding.mode or assistant_pb2.MODE_AUGMENT
    known = mode in assistant_pb2.Mode.values()
    return tool_pb2.ValidateToolConfigRequest(
        name=binding.tool,
        config=binding.config,
        mode=mode if known else assistant_pb2.MODE_UNSPECIFIED,
    )


def key_of(request: tool_pb2.ValidateToolConfigRequest) -> bytes:
    """Return the same key for equal requests."""
    return request.SerializeToString(deterministic=True)
