"""Records what one request to a model returned."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import HeddleError


@dataclass(slots=True)
class Round:
    """A request to a model, and its answer or failure."""

    start: float
    """Seconds after the start of the run."""
    seconds: float = 0.0
    chars: int = 0
    """The length of the text."""
    replaced: chat_pb2.ModelReplaced | None = None
    done: chat_pb2.Done | None = None
    failure: HeddleError | None = None
    _pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """The text."""
        return "".join(self._pieces)

    def take(self, events: Iterable[pb.RunEvent]) -> None:
        """Record events."""
        for event in events:
            match event.WhichOneof("event"):
                case "text_delta":
                    self._pieces.append(event.text_delta)
                    self.chars += len(event.text_delta)
                case "model_replaced":
                    self.replaced = event.model_replaced
                case "done":
                    self.done = event.done
                case _:
                    continue
