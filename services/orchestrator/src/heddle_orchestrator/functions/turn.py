"""What a model does in one round: it says something, and calls functions."""

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb


@dataclass(slots=True)
class Turn:
    """Collects a round's calls; everything else passes at once."""

    number: int
    """Of the round, from 1."""
    clients: Container[str]
    """Names of the client's functions."""
    ids: set[str]
    """Of all calls of the run."""
    text: str = ""
    ours: list[chat_pb2.ToolCall] = field(default_factory=list)
    theirs: list[chat_pb2.ToolCall] = field(default_factory=list)
    """Calls of the client's functions."""
    done: chat_pb2.Done | None = None
    _pieces: list[str] = field(default_factory=list)

    def take(self, events: Sequence[pb.RunEvent]) -> list[pb.RunEvent]:
        """Take what happened; return what of it the client reads now."""
        shown = []
        for event in events:
            match event.WhichOneof("event"):
                case "tool_call":
                    self._take_call(event.tool_call)
                case "done":
                    self.done = event.done
                    self.text = "".join(self._pieces)
                case "text_delta":
                    self._pieces.append(event.text_delta)
                    shown.append(event)
                case _:
                    shown.append(event)
        return shown

    def _take_call(self, call: chat_pb2.ToolCall) -> None:
        if call.name in self.clients:
            self.theirs.append(call)
            return
        # What answers a call is told by its id: each needs one, and one of its own.
        if not call.id or call.id in self.ids:
            renamed = chat_pb2.ToolCall()
            renamed.CopyFrom(call)
            renamed.id = self._free_id()
            call = renamed
        self.ids.add(call.id)
        self.ours.append(call)

    def _free_id(self) -> str:
        number = len(self.ours) + 1
        while (made := f"call_{self.number}_{number}") in self.ids:
            number += 1
        return made
