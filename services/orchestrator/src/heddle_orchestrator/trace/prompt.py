"""The prompt of a run, as a trace shows it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from heddle.chat.v1 import chat_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import InvalidRequestError
from heddle_runtime.redaction import redact, redact_personal

from heddle_orchestrator.plan import Plan
from heddle_orchestrator.prompts.images import visible
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.trace.texts import redacted

_TOO_LONG = "[The prompt is too long for the trace.]"


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a text of the prompt, before secrets are replaced."""

    message: int
    part: int
    """The position among the texts of the message."""
    start: int
    end: int


class SentPrompt:
    """The messages that a model received."""

    def __init__(self, messages: Iterable[chat_pb2.Message]) -> None:
        self._messages = list(messages)
        self.texts = [
            [part.text for part in message.parts if part.HasField("text")]
            for message in self._messages
        ]
        """The texts of each message."""
        self._positions: dict[tuple[int, int], set[int]] = defaultdict(set)
        self._moved: dict[tuple[int, int], dict[int, int] | None] = {}

    def find(self, text: str, *, start: int = 0) -> Span | None:
        """Return the place of a text in the last message that contains it; None if no message does.

        Args:
            text: The text.
            start: The first character of the message's text to look at.
        """
        if not text:
            return None
        for message in range(len(self.texts) - 1, -1, -1):
            for part, whole in enumerate(self.texts[message]):
                if (at := whole.find(text, start)) >= 0:
                    return Span(message, part, at, at + len(text))
        return None

    def result_of(self, call_id: str) -> Span | None:
        """Return the result of a function call, None if the model did not receive it."""
        for index, message in enumerate(self._messages):
            if message.tool_call_id == call_id and self.texts[index]:
                return Span(index, 0, 0, len(self.texts[index][0]))
        return None

    def show(self, spans: Iterable[Span]) -> None:
        """Replace the secrets, and record where these parts are afterwards; see `range_of`."""
        for span in spans:
            self._positions[span.message, span.part] |= {span.start, span.end}
        for message, texts in enumerate(self.texts):
            for part, text in enumerate(texts):
                place = message, part
                texts[part], self._moved[place] = redacted(text, self._positions[place])

    def range_of(self, span: Span) -> pb.Trace.Range | None:
        """Return the place of a part after `show`; None if a secret crosses its edge."""
        moved = self._moved[span.message, span.part]
        if moved is None:
            return None
        return pb.Trace.Range(
            message=span.message, part=span.part, start=moved[span.start], end=moved[span.end]
        )

    @property
    def shown(self) -> Iterator[pb.Trace.Message]:
        """The messages, after `show`."""
        for message, texts in zip(self._messages, self.texts, strict=True):
            yield pb.Trace.Message(
                role=message.role,
                parts=texts,
                tool_calls=[
                    pb.Trace.Call(id=call.id, name=call.name, arguments=redact(call.arguments_json))
                    for call in message.tool_calls
                ],
                tool_call_id=message.tool_call_id,
            )


def outline(plan: Plan, max_chars: int) -> Sequence[pb.Trace.Message]:
    """Return the first prompt once more, with the length of each tool's text in place of the text.

    So the trace shows where the texts went without containing them. In a slot that is repeated
    often, the lengths may need more room than short texts: the prompt is left out then.
    """
    slots = plan.filled(cite=False, show=_length)
    try:
        prompt = plan.processor.prompt(
            plan.assistant,
            visible(plan.assistant, plan.request.messages),
            slots.texts,
            slots.notes,
            max_chars=max_chars,
        )
    except InvalidRequestError:
        return [pb.Trace.Message(role=chat_pb2.ROLE_SYSTEM, parts=[_TOO_LONG])]
    return [_without_personal_data(message) for message in prompt]


def _length(bound: BoundTool) -> str:
    return f"[{bound.id}: {len(bound.text)} characters]" if bound.text else ""


def _without_personal_data(message: chat_pb2.Message) -> pb.Trace.Message:
    texts = [redact_personal(part.text) for part in message.parts if part.HasField("text")]
    return pb.Trace.Message(role=message.role, parts=texts)
