"""The end of a run: the assistant's own model answers with the results."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.conversations import question_index
from heddle_runtime.contract.frontend_payloads import Response

from heddle_orchestrator.agent import output_events
from heddle_orchestrator.agent.context_builder import Citation, errors, passage_texts, sources
from heddle_orchestrator.agent.environment import all_text
from heddle_orchestrator.agent.policy import nothing_usable
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.agent.word_matching import coverage
from heddle_orchestrator.functions import Generate
from heddle_orchestrator.functions.budget import add_usage
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.tools.execution import Events
from heddle_orchestrator.tools.sources import SentText, source_events

GenerateRequest = connector_pb2.GenerateWholeMessageRequest
_INCOMPLETE = "Some information is missing. Say so if it matters for the answer."
_NOTHING_USABLE = "found nothing about the question. Say so, and name no source."
_MAX_SMALL = 3
"""The number of passages for a small model: more of them distract it from the right one."""
_CITE = "Name the manual and the page of every fact in the answer."


@dataclass(frozen=True, slots=True)
class TextResponse:
    """Streams the answer."""

    generate: Generate
    query_id: str
    max_chars: int
    """The limit of the results in the prompt, in characters."""
    small: bool = False
    """Whether the model is small: it reads the best passages alone, without instructions."""

    async def events(
        self,
        request: GenerateRequest,
        state: State,
        called: Sequence[BoundTool],
        usage: chat_pb2.Usage,
        *,
        include_sources: bool = True,
    ) -> AsyncGenerator[Events]:
        """Yield the sources, the answer, the one output of type `response`, and `done`.

        Args:
            request: The conversation after the assistant's prompt processor. Is changed.
            state: The state of the run, with the results.
            called: The tools that ran.
            usage: The usage of the decisions. It is added to that of the answer.
            include_sources: Whether the response lists its sources.
        """
        results, citations = _results(state, self.max_chars, small=self.small)
        if results:
            _insert(request.generation, results)
        if sent := source_events(called, SentText(results)):
            yield sent
        citations = citations if include_sources else ()
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


def _results(state: State, max_chars: int, *, small: bool) -> tuple[str, tuple[Citation, ...]]:
    """Return the results of a run for the model that answers, and their sources."""
    environment = state.environment
    parts: list[str] = []
    citations: tuple[Citation, ...] = ()
    if nothing_usable(state):
        tools = dict.fromkeys(past.tool for past in state.history if not past.failed)
        if tools:
            parts.append(f"{', '.join(tools)} {_NOTHING_USABLE}")
    elif not environment.is_empty():
        objects = environment.objects()
        if small:
            objects = _best(state.query, objects)
        citations = sources(objects)
        state.sent_passages = passage_texts(objects, max_chars)
        parts += ["Text:" if small else "What was found:", *state.sent_passages]
        if citations and not small:
            parts.append(_CITE)
    if environment.errors and not (small and parts):
        parts += [*errors(environment), _INCOMPLETE]
    return "\n\n".join(parts), citations


def _best(question: str, objects: Sequence[str]) -> tuple[str, ...]:
    """Return the objects that have most words of a question, in their order."""
    ranked = sorted(objects, key=lambda each: coverage(question, all_text([each])), reverse=True)
    chosen = ranked[:_MAX_SMALL]
    return tuple(each for each in objects if each in chosen)


def _insert(generation: connector_pb2.GenerateMessageRequest, text: str) -> None:
    """Insert a text before the user's question, where small models use it best."""
    index = question_index(generation.messages)
    if index is None or generation.messages[index].role != chat_pb2.ROLE_USER:
        generation.messages.add(role=chat_pb2.ROLE_USER).parts.add(text=text)
        return
    message = generation.messages[index]
    first = chat_pb2.ContentPart(text=f"{text}\n\n")
    rest = list(message.parts)
    del message.parts[:]
    message.parts.extend([first, *rest])
    _join_texts(message)


def _join_texts(message: chat_pb2.Message) -> None:
    """Join the first two texts: some providers accept only one text part."""
    if len(message.parts) > 1 and message.parts[1].HasField("text"):
        message.parts[0].text += message.parts[1].text
        del message.parts[1]
