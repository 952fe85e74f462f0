"""Finds the texts that tools and the user brought into a prompt, and their places in it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice

from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.conversations import message_text, question_index

from heddle_orchestrator.plan import Plan
from heddle_orchestrator.prompts.slots import SEPARATOR
from heddle_orchestrator.prompts.template import USER_INPUT, Template
from heddle_orchestrator.tools.bindings import BoundTool
from heddle_orchestrator.trace.prompt import SentPrompt, Span
from heddle_orchestrator.trace.texts import shortened

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
