"""The trace of a run, for debugging an assistant. Built only for runs that ask for it.

`steps` records the requests to models and lists what ran, `insertions` tells what filled the slots
and where it is in the prompt, and `texts` replaces secrets.
"""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import grpc
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.conversations import message_text, question_index
from heddle_runtime.contract.frontend_payloads import shown, written
from heddle_runtime.contract.json_text import members
from heddle_runtime.contract.struct_codec import from_struct, to_struct
from heddle_runtime.errors import HeddleError, from_rpc
from heddle_runtime.identity.call_metadata import Context, Stopwatch

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.metering.prices import PriceClient
from heddle_orchestrator.plan import Plan
from heddle_orchestrator.prompts.slots import SEPARATOR
from heddle_orchestrator.prompts.template import USER_INPUT, Template
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.trace.prompt import SentPrompt, Span, outline
from heddle_orchestrator.trace.steps import Round, Steps
from heddle_orchestrator.trace.texts import shortened

if TYPE_CHECKING:
    from heddle_orchestrator.event_mapping import EventList


_MAX_RANGES = 100


@dataclass(slots=True)
class _Insertion:
    slot: str
    text: str
    bound: BoundTool | None = None
    """The tool that produced the text; None for the user's question."""
    spans: list[Span] = field(default_factory=list)


def insertions(
    plan: Plan, prompt: SentPrompt, positions: Mapping[int, int]
) -> Iterator[pb.Trace.Insertion]:
    """Yield the texts that were inserted into a prompt, and replace the prompt's secrets.

    Args:
        plan: The run, after its end.
        prompt: The prompt of the answer.
        positions: The positions of the steps of tools, by the identity of the tool's run.
    """
    inserted = [
        *_of_template(plan, prompt),
        *_of_calls(plan, prompt),
        *_of_agent(plan, prompt),
    ]
    prompt.show(span for each in inserted for span in each.spans)
    for each in inserted:
        text, cut = shortened(each.text)
        yield pb.Trace.Insertion(
            slot=each.slot,
            text=text,
            text_cut=cut,
            step=None if each.bound is None else positions[id(each.bound)],
            tool="" if each.bound is None else each.bound.tool,
            ranges=filter(None, map(prompt.range_of, each.spans)),
        )


def _of_template(plan: Plan, prompt: SentPrompt) -> Iterator[_Insertion]:
    """Yield the texts of the slots, and the notes below the system prompt."""
    template = plan.template
    filled = plan.filled(cite=plan.cites)
    messages = plan.request.messages
    index = question_index(messages)
    question = "" if index is None else message_text(messages[index])
    texts = {**filled.texts, USER_INPUT: question}
    # Without a template, the model receives the conversation unchanged.
    rendered = prompt.find(template.render(texts) if template.text else question)
    if question:
        own = _Insertion(USER_INPUT, question)
        if rendered is not None:
            spans = _of_slot(template, texts, USER_INPUT, rendered) if template.text else [rendered]
            own.spans = list(spans)
        yield own
    offsets = dict.fromkeys(texts, 0)
    for slot, bound, text in filled.pieces:
        each = _Insertion(slot, text, bound)
        if not slot or slot in plan.processor.system_slots:
            each.spans = list(filter(None, [prompt.find(text)]))
        elif rendered is not None:
            offset = offsets[slot]
            each.spans = [
                replace(span, start=span.start + offset, end=span.start + offset + len(text))
                for span in _of_slot(template, texts, slot, rendered)
            ]
            offsets[slot] += len(text) + len(SEPARATOR)
        yield each


def _of_slot(
    template: Template, texts: Mapping[str, str], slot: str, rendered: Span
) -> Iterator[Span]:
    """Yield where the text of a slot is, the first times."""
    own = (each for each in template.rendered_spans(texts) if each[0] == slot)
    for _, start, end in islice(own, _MAX_RANGES):
        at = rendered.start
        yield Span(rendered.message, rendered.part, at + start, at + end)


def _of_calls(plan: Plan, prompt: SentPrompt) -> Iterator[_Insertion]:
    """Yield the results of called functions."""
    for bound in plan.called:
        if bound.call is not None and (span := prompt.result_of(bound.call.id)) is not None:
            text = prompt.texts[span.message][span.part]
            yield _Insertion("", text, bound, [span])


def _of_agent(plan: Plan, prompt: SentPrompt) -> Iterator[_Insertion]:
    """Yield the passages that the routing agent found, in their order."""
    if plan.state is None:
        return
    sources = plan.state.environment.tools_of_objects()
    by_tool = {each.tool: each for each in plan.called}
    start = 0
    for tool, text in zip(sources, plan.state.sent_passages, strict=False):
        span = prompt.find(text, start=start)
        if span is not None and (bound := by_tool.get(tool)) is not None:
            start = span.end
            yield _Insertion("", text, bound, [span])


_MAX_TEXT_CHARS = 200
_MAX_OBJECT_CHARS = 50_000
"""The limit of all objects together."""


def snapshot(state: State) -> tool_pb2.TreeData:
    """Return a copy of the state with the limits that the contract sets for a trace."""
    tree = state.to_proto()
    tree.user_prompt, tree.query = _text(tree.user_prompt), _text(tree.query)
    environment = tree.environment
    room = _MAX_OBJECT_CHARS
    for finding in environment.findings:
        finding.metadata.CopyFrom(
            to_struct(shown(from_struct(finding.metadata), _MAX_TEXT_CHARS, personal=True))
        )
        finding.message = _text(finding.message)
        objects = _first_objects(finding.objects_json, room)
        environment.left_out += len(finding.objects_json) - len(objects)
        room -= sum(map(len, objects))
        del finding.objects_json[:]
        finding.objects_json.extend(objects)
    for error in environment.errors:
        error.message, error.suggestion = _text(error.message), _text(error.suggestion)
    for past in tree.history:
        past.inputs_json = _object(past.inputs_json)
    return tree


def _first_objects(objects: Iterable[str], room: int) -> list[str]:
    first: list[str] = []
    for text in map(_object, objects):
        room -= len(text)
        if room < 0:
            break
        first.append(text)
    return first


def _text(text: str) -> str:
    return str(shown(text, _MAX_TEXT_CHARS, personal=True))


def _object(text: str) -> str:
    return written(shown(members(text), _MAX_TEXT_CHARS, personal=True))


__all__ = ["Tracing"]


class Tracing:
    """Observes one run, and inserts its trace before the end."""

    def __init__(
        self, plan: Plan, max_prompt_chars: int, prices: PriceClient, context: Context
    ) -> None:
        """Begin the trace. All starts are counted from now."""
        self._plan = plan
        self._max_prompt_chars = max_prompt_chars
        self._prices = prices
        self._context = context
        self._watch = Stopwatch()
        self._rounds: list[Round] = []
        self._decisions: list[tuple[float, pb.Decision]] = []

    async def observe(
        self, answer: AsyncGenerator[pb.RunCompletionResponse]
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of one request to a model, and record them."""
        observed = Round(self._watch.seconds())
        self._rounds.append(observed)
        try:
            async with aclosing(answer) as responses:
                async for response in responses:
                    observed.take(response.events)
                    observed.seconds = self._watch.seconds() - observed.start
                    yield response
        except (HeddleError, grpc.aio.AioRpcError) as error:
            observed.failure = from_rpc(error) if isinstance(error, grpc.aio.AioRpcError) else error
            observed.seconds = self._watch.seconds() - observed.start
            raise

    async def insert_into(
        self,
        answer: AsyncGenerator[pb.RunCompletionResponse],
        sent: connector_pb2.GenerateMessageRequest,
    ) -> AsyncGenerator[pb.RunCompletionResponse]:
        """Yield the events of the answer, with the trace before `done`.

        Args:
            answer: The events.
            sent: The request to the model that answers. Each round adds messages to it.
        """
        async with aclosing(answer) as responses:
            async for response in responses:
                events = response.events
                self._record_decisions(events)
                if events and events[-1].HasField("done"):
                    last = events.pop()
                    trace = await self._trace(sent)
                    events.extend([pb.RunEvent(trace=trace), last])
                yield response

    def _record_decisions(self, events: "EventList") -> None:
        for event in events:
            if event.HasField("decision"):
                elapsed = event.decision.elapsed.ToNanoseconds() / 1e9
                start = max(0.0, self._watch.seconds() - elapsed)
                self._decisions.append((start, event.decision))

    async def _trace(self, sent: connector_pb2.GenerateMessageRequest) -> pb.Trace:
        plan = self._plan
        organization = plan.assistant.organization
        price = partial(self._prices.price, organization=organization, context=self._context)
        steps = Steps(plan, self._watch.started)
        await steps.add_rounds(self._rounds, price)
        trace = pb.Trace(
            steps=[*steps.tools, *steps.decisions(self._decisions), *steps.models],
            tree=snapshot(plan.state) if plan.state else None,
            has_texts=plan.trace_texts,
        )
        if not plan.trace_texts:
            trace.prompt.extend(outline(plan, self._max_prompt_chars))
            return trace
        prompt = SentPrompt(sent.messages)
        trace.slots.extend(insertions(plan, prompt, steps.positions))
        trace.prompt.extend(prompt.shown)
        return trace
