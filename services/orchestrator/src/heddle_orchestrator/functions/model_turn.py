"""The text and the function calls of a model in one round."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb


@dataclass(slots=True)
class ModelTurn:
    """Collects the calls of a round. All other events pass through."""

    number: int
    """The number of the round, from 1."""
    client_functions: Container[str]
    """Names of the client's functions."""
    ids: set[str]
    """The ids of all calls of the run."""
    text: str = ""
    calls: list[chat_pb2.ToolCall] = field(default_factory=list)
    """Calls of the assistant's functions."""
    client_calls: list[chat_pb2.ToolCall] = field(default_factory=list)
    """Calls of the client's functions."""
    done: chat_pb2.Done | None = None
    _pieces: list[str] = field(default_factory=list)

    def take(self, events: Sequence[pb.RunEvent]) -> list[pb.RunEvent]:
        """Collect the calls among events, and return the other events."""
        visible = []
        for event in events:
            match event.WhichOneof("event"):
                case "tool_call":
                    self._take_call(event.tool_call)
                case "done":
                    self.done = event.done
                    self.text = "".join(self._pieces)
                case "text_delta":
                    self._pieces.append(event.text_delta)
                    visible.append(event)
                case _:
                    visible.append(event)
        return visible

    def _take_call(self, call: chat_pb2.ToolCall) -> None:
        if call.name in self.client_functions:
            self.client_calls.append(call)
            return
        # A result refers to its call by id: each call needs a unique one.
        if not call.id or call.id in self.ids:
            renamed = chat_pb2.ToolCall()
            renamed.CopyFrom(call)
            renamed.id = self._free_id()
            call = renamed
        self.ids.add(call.id)
        self.calls.append(call)

    def _free_id(self) -> str:
        number = len(self.calls) + 1
        while (identifier := f"call_{self.number}_{number}") in self.ids:
            number += 1
        return identifier
