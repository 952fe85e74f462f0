"""The end of a run: the assistant's own model answers with the results."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.frontend_payloads import Response

from heddle_orchestrator.agent import output_events
from heddle_orchestrator.agent.context_builder import Citation, errors, passages, sources
from heddle_orchestrator.agent.environment import Environment
from heddle_orchestrator.functions import Generate
from heddle_orchestrator.functions.budget import add_usage
from heddle_orchestrator.tools.execution import Events

GenerateRequest = connector_pb2.GenerateWholeMessageRequest
_INCOMPLETE = "Some information is missing. Say so if it matters for the answer."
_CITE = "Name the manual and the page of every fact in the answer."


@dataclass(frozen=True, slots=True)
class TextResponse:
    """Streams the answer."""

    generate: Generate
    query_id: str
    max_chars: int
    """Of the results in the prompt."""

    async def events(
        self,
        request: GenerateRequest,
        environment: Environment,
        usage: chat_pb2.Usage,
        *,
        include_sources: bool = True,
    ) -> AsyncGenerator[Events]:
        """Yield the answer, the one output of type `response`, and `done`.

        Args:
            request: The conversation after the assistant's prompt processor. Is changed.
            environment: The results.
            usage: Of the decisions. It is added to the usage of the answer.
            include_sources: Whether the response lists its sources.
        """
        _insert_results(request.generation, environment, self.max_chars)
        citations = sources(environment.objects()) if include_sources else ()
        texts: list[str] = []
        async with aclosing(self.generate(request)) as batches:
            async for events in batches:
                texts += [each.text_delta for each in events if each.HasField("text_delta")]
                if events and events[-1].HasField("done"):
                    text, done = "".join(texts), events[-1].done
                    yield [*events[:-1], *self.end(text, citations, done, usage)]
                else:
                    yield events

    def end(
        self,
        text: str,
        citations: tuple[Citation, ...],
        done: chat_pb2.Done,
        usage: chat_pb2.Usage,
    ) -> Events:
        """Return the last two events of a run."""
        total = chat_pb2.Done()
        total.CopyFrom(done)
        if usage.ByteSize():
            add_usage(total.usage, usage)
        response = Response(text, [each.to_frontend() for each in citations])
        return [output_events.event(response, self.query_id), pb.RunEvent(done=total)]


def _insert_results(
    generation: connector_pb2.GenerateMessageRequest, environment: Environment, max_chars: int
) -> None:
    """Insert the results before the user's last message, where small models use them best."""
    parts = []
    if not environment.is_empty():
        objects = environment.objects()
        parts = ["What was found:", passages(objects, max_chars)]
        if sources(objects):
            parts.append(_CITE)
    if environment.errors:
        parts += [*errors(environment), _INCOMPLETE]
    if not parts:
        return
    text = "\n\n".join(parts)
    for message in reversed(generation.messages):
        if message.role == chat_pb2.ROLE_USER:
            first = chat_pb2.ContentPart(text=f"{text}\n\n")
            rest = list(message.parts)
            del message.parts[:]
            message.parts.extend([first, *rest])
            _join_texts(message)
            return
    part = chat_pb2.ContentPart(text=text)
    generation.messages.add(role=chat_pb2.ROLE_USER).parts.append(part)


def _join_texts(message: chat_pb2.Message) -> None:
    """Join the first two texts: some providers accept only one text part."""
    if len(message.parts) > 1 and message.parts[1].HasField("text"):
        message.parts[0].text += message.parts[1].text
        del message.parts[1]
