"""The sources of tools whose texts are sent to the model."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.tools.bindings import BoundTool

_MAX_COMPARED_CHARS = 60
"""The maximum number of characters of an excerpt to compare. The prompt may cut a passage off."""


def source_events(bound: Iterable[BoundTool], sent: "SentText | None" = None) -> list[pb.RunEvent]:
    """Return the events of the sources of tools that succeeded.

    Args:
        bound: The tools with their outcomes.
        sent: What the model receives of their texts. None: it receives them whole.
    """
    events = []
    for each in bound:
        if each.error is not None or each.has_no_slot:
            continue
        sources = each.sources if sent is None else sent.sources_of(each.sources)
        if sources:
            event = pb.Sources(binding_id=each.binding_id, sources=sources)
            events.append(pb.RunEvent(sources=event))
    return events


@dataclass(frozen=True, slots=True)
class SentText:
    """A text for the model that contains only a part of the texts of tools."""

    text: str
    _normalized: str = field(init=False)

    def __post_init__(self) -> None:
        """Prepare the text for comparisons."""
        object.__setattr__(self, "_normalized", _normalized(self.text))

    def sources_of(self, sources: Iterable[tool_pb2.Source]) -> Sequence[tool_pb2.Source]:
        """Return the sources whose excerpts are in the text; without an excerpt, the title."""
        return [each for each in sources if _beginning(each) in self._normalized]


def _beginning(source: tool_pb2.Source) -> str:
    return _normalized(source.excerpt or source.title)[:_MAX_COMPARED_CHARS].rstrip()


def _normalized(text: str) -> str:
    """Return a text with single spaces, and without the escapes of JSON strings."""
    plain = text.replace("\\n", " ").replace("\\t", " ").replace('\\"', '"').replace("\\\\", "\\")
    return " ".join(plain.split())
