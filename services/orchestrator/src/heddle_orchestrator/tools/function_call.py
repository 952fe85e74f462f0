"""A function call of a model."""

import json
from dataclasses import dataclass
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle_runtime.contract.frontend_payloads import shown, written
from heddle_runtime.contract.limits import exceeds_depth
from heddle_runtime.redaction import redact

_MAX_DEPTH = 200
"""Levels. Code that recurses into more levels may exceed the stack."""
_MAX_SHOWN_CHARS = 1_000
_TEXT_LIMITS = (_MAX_SHOWN_CHARS, 200, 50)
"""Characters of each text in the arguments. The largest limit that fits is used."""


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A call with its parsed arguments."""

    proto: chat_pb2.ToolCall
    """The call as the model wrote it."""
    arguments: dict[str, Any] | None
    """None if they are not a JSON object, or one with too many levels."""

    @classmethod
    def read(cls, proto: chat_pb2.ToolCall) -> "FunctionCall":
        """Parse the arguments of a call."""
        try:
            arguments = json.loads(proto.arguments_json)
        except (ValueError, RecursionError):
            arguments = None
        readable = isinstance(arguments, dict) and not exceeds_depth(arguments, _MAX_DEPTH)
        return cls(proto, arguments if readable else None)

    @property
    def id(self) -> str:
        """Unique in the run."""
        return self.proto.id

    @property
    def name(self) -> str:
        """The name of the function in the model's request."""
        return self.proto.name

    @property
    def is_readable(self) -> bool:
        """Whether the arguments are empty or a JSON object."""
        return self.arguments is not None or not self.proto.arguments_json.strip()

    @property
    def key(self) -> tuple[str, str]:
        """A key that is equal for calls of the same function with the same arguments."""
        if self.arguments is None:
            return self.name, self.proto.arguments_json.strip()
        return self.name, json.dumps(self.arguments, sort_keys=True)

    @property
    def shown(self) -> str:
        """The arguments without secrets, shortened. A JSON object stays a JSON object."""
        if self.arguments is None:
            return redact(self.proto.arguments_json)[:_MAX_SHOWN_CHARS]
        for limit in _TEXT_LIMITS:
            text = written(shown(self.arguments, limit))
            if len(text) <= _MAX_SHOWN_CHARS:
                return text
        size = len(self.proto.arguments_json)
        return written({"…": f"{len(self.arguments):,} arguments of {size:,} characters"})
