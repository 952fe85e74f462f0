"""The end of a run: the assistant's own model answers with what was found."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass

from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb

from heddle_orchestrator.agent.asking import add
from heddle_orchestrator.agent.brief import Cited, errors, passages, sources
from heddle_orchestrator.agent.environment import Environment
from heddle_orchestrator.agent.outputs import answered, event
from heddle_orchestrator.execution import Events

Order = connector_pb2.GenerateWholeMessageRequest
Generate = Callable[[Order], AsyncGenerator[Events]]
_NOT_ALL = "Not everything could be found out. Say so if it matters for the answer."
_CITE = "Name the manual and the page that the answer rests on."


@dataclass(frozen=True, slots=True)
class TextResponse:
    """Streams the answer."""

    generate: Generate
    query_id: str
    most_chars: int
    """Of what was found, in the prompt."""

    async def events(
        self,
        order: Order,
        environment: Environment,
        used: chat_pb2.Usage,
        *,
        include_sources: bool = True,
    ) -> AsyncGenerator[Events]:
        """Yield the answer, the one output of type `response`, and `done`.

        Args:
            order: The conversation as the assistant's prompt processor made it. Is changed.
            environment: What was found.
            used: What the decisions took; it is part of what the run took.
            include_sources: Whether the sources are told beside the answer.
        """
        _inform(order.generation, environment, self.most_chars)
        cited = sources(environment.objects()) if include_sources else ()
        texts: list[str] = []
        async with aclosing(self.generate(order)) as generated:
            async for events in generated:
                texts += [each.text_delta for each in events if each.HasField("text_delta")]
                if events and events[-1].HasField("done"):
                    yield [*events[:-1], *self.end("".join(texts), cited, events[-1].done, used)]
                else:
                    yield events

    def end(
        self, text: str, cited: tuple[Cited, ...], ended: chat_pb2.Done, used: chat_pb2.Usage
    ) -> Events:
        """Return the last two events of a run."""
        done = chat_pb2.Done()
        done.CopyFrom(ended)
        if used.ByteSize():
            add(done.usage, used)
        return [event(answered(text, cited), self.query_id), pb.RunEvent(done=done)]


def _inform(
    generation: connector_pb2.GenerateMessageRequest, environment: Environment, most_chars: int
) -> None:
    """Put what was found before the last words of the person: small models forget what is far."""
    parts = []
    if not environment.is_empty():
        objects = environment.objects()
        parts = ["What was found:", passages(objects, most_chars)]
        if sources(objects):
            parts.append(_CITE)
    if environment.errors:
        parts += [*errors(environment), _NOT_ALL]
    if not parts:
        return
    told = "\n\n".join(parts)
    for turn in reversed(generation.messages):
        if turn.role == chat_pb2.ROLE_USER:
            first = chat_pb2.ContentPart(text=f"{told}\n\n")
            rest = list(turn.parts)
            del turn.parts[:]
            turn.parts.extend([first, *rest])
            _join(turn)
            return
    text = chat_pb2.ContentPart(text=told)
    generation.messages.add(role=chat_pb2.ROLE_USER).parts.append(text)


def _join(turn: chat_pb2.Message) -> None:
    """Make one part of the texts at the beginning: some providers take one only."""
    if len(turn.parts) > 1 and turn.parts[1].HasField("text"):
        turn.parts[0].text += turn.parts[1].text
        del turn.parts[1]
