"""A call that a model asked for."""

import json
from dataclasses import dataclass
from typing import Any

from heddle.chat.v1 import chat_pb2
from heddle_runtime.frontend_payloads import shown, written
from heddle_runtime.redaction import redact

_DEEPEST = 200  # levels; whatever walks through more may find no end of the stack
_LONGEST = 1_000  # characters that are told
_SHARES = (_LONGEST, 200, 50)
"""Characters of each text; the largest share with which all has room is taken."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose arguments have been read, once for all who look at them."""

    told: chat_pb2.ToolCall
    """As the model asked for it."""
    arguments: dict[str, Any] | None
    """None if they are no JSON object, or one that is nested without measure."""

    @classmethod
    def read(cls, told: chat_pb2.ToolCall) -> "Call":
        """Read the arguments of a call."""
        try:
            arguments = json.loads(told.arguments_json)
        except (ValueError, RecursionError):
            arguments = None
        readable = isinstance(arguments, dict) and not is_deeper(arguments, _DEEPEST)
        return cls(told, arguments if readable else None)

    @property
    def id(self) -> str:
        """Unique in the run."""
        return self.told.id

    @property
    def name(self) -> str:
        """The function, as the model knows it."""
        return self.told.name

    @property
    def key(self) -> tuple[str, str]:
        """What is the same for the same function and the same arguments."""
        if self.arguments is None:
            return self.name, self.told.arguments_json.strip()
        return self.name, json.dumps(self.arguments, sort_keys=True)

    @property
    def shown(self) -> str:
        """What the model wrote, as people may see it; what was a JSON object still is one."""
        if self.arguments is None:
            return redact(self.told.arguments_json)[:_LONGEST]
        for share in _SHARES:
            text = written(shown(self.arguments, share))
            if len(text) <= _LONGEST:
                return text
        size = len(self.told.arguments_json)
        return written({"…": f"{len(self.arguments):,} arguments of {size:,} characters"})


def is_deeper(value: object, levels: int) -> bool:
    """Say whether a JSON value has more levels of objects and lists than so many."""
    inside = [value]
    for _ in range(levels + 1):
        outer = [each for each in inside if isinstance(each, dict | list)]
        if not outer:
            return False
        inside = [
            it for each in outer for it in (each.values() if isinstance(each, dict) else each)
        ]
    return True
