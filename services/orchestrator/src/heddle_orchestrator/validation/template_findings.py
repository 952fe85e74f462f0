"""Finds likely mistakes in a template."""

from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain, islice

from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

from heddle_orchestrator import prompts
from heddle_orchestrator.prompts import PROMPT_PROCESSORS
from heddle_orchestrator.prompts.simple_augment import SimpleAugment
from heddle_orchestrator.prompts.template import USER_INPUT, Template
from heddle_orchestrator.tools.bindings import is_unnamed
from heddle_orchestrator.tools.default_slots import DefaultSlots

MAX_FINDINGS = 100
_AUGMENT_MODES = (assistant_pb2.MODE_UNSPECIFIED, assistant_pb2.MODE_AUGMENT)
Kind = pb.TemplateFinding.Kind


class TemplateChecker:
    """Finds likely mistakes in templates."""

    def __init__(self, default_slots: DefaultSlots) -> None:
        self._default_slots = default_slots

    async def check(
        self, assistant: assistant_pb2.Assistant, context: Context
    ) -> list[pb.TemplateFinding]:
        """Return the findings; none if a slot is not known."""
        default_slots: Mapping[str, str] | None = {}
        if any(not each.slot for each in assistant.tools):
            default_slots = await self._default_slots.get(context)
        if default_slots is None:
            return []
        return findings_of(
            assistant, [each.slot or default_slots.get(each.tool, "") for each in assistant.tools]
        )


def findings_of(
    assistant: assistant_pb2.Assistant, slots: Sequence[str]
) -> list[pb.TemplateFinding]:
    """Return the findings about the template of an assistant.

    Args:
        assistant: The assistant.
        slots: The slot of each binding; empty for a tool that does not exist.
    """
    template = _processor_of(assistant).template(assistant, slots)
    findings = chain(
        _of_template(template, assistant, slots), _of_tools(template, assistant, slots)
    )
    return list(islice(findings, MAX_FINDINGS))


def _of_template(
    template: Template, assistant: assistant_pb2.Assistant, slots: Sequence[str]
) -> Iterator[pb.TemplateFinding]:
    filled = {slots[index] for index in _augmenting(assistant)}
    filled |= {USER_INPUT, *_processor_of(assistant).slots}
    names = {*template.slots()}
    if template.text and USER_INPUT not in names:
        description = (
            f"The template does not contain {{{USER_INPUT}}}, so the model does not receive the "
            "message of the user."
        )
        yield pb.TemplateFinding(
            kind=Kind.KIND_NO_USER_INPUT, slot=USER_INPUT, description=description
        )
    described: dict[str, pb.TemplateFinding] = {}
    for name, start, end in template.occurrences():
        if name in filled:
            continue
        if name not in described:
            described[name] = _of_slot(name, slots, sorted(filled))
        finding = pb.TemplateFinding(start=start, end=end)
        finding.MergeFrom(described[name])
        yield finding


def _of_slot(name: str, slots: Sequence[str], filled: Sequence[str]) -> pb.TemplateFinding:
    tools = [index for index, slot in enumerate(slots) if slot == name]
    if tools:
        return pb.TemplateFinding(
            kind=Kind.KIND_UNFILLED_SLOT,
            slot=name,
            tools=tools,
            description=f"The tool of {{{name}}} is disabled or does not run before the model, so "
            "the slot stays empty. Enable the tool in the mode `augment`, or remove the slot.",
        )
    suggestion = next(iter(get_close_matches(name, filled, n=1)), "")
    hint = f" Did you mean {{{suggestion}}}?" if suggestion else ""
    return pb.TemplateFinding(
        kind=Kind.KIND_UNKNOWN_SLOT,
        slot=name,
        description=f"No tool fills {{{name}}}, so it is removed from the prompt.{hint}",
        suggestion=suggestion,
    )


def _of_tools(
    template: Template, assistant: assistant_pb2.Assistant, slots: Sequence[str]
) -> Iterator[pb.TemplateFinding]:
    names = {*template.slots()}
    system_slots = _processor_of(assistant).system_slots
    for index in _augmenting(assistant):
        slot = slots[index]
        if slot and slot not in names and slot not in system_slots:
            description = (
                f"The template does not contain {{{slot}}}, so the model does not receive what "
                f"the tool {assistant.tools[index].tool} returns. Insert the slot."
            )
            yield pb.TemplateFinding(
                kind=Kind.KIND_TOOL_WITHOUT_SLOT, slot=slot, tools=[index], description=description
            )


def _augmenting(assistant: assistant_pb2.Assistant) -> Iterator[int]:
    """Yield the positions of the bindings that run before the model."""
    for index, binding in enumerate(assistant.tools):
        if binding.mode in _AUGMENT_MODES and not binding.disabled and not is_unnamed(binding):
            yield index


def _processor_of(assistant: assistant_pb2.Assistant) -> SimpleAugment:
    """Return the prompt processor of the assistant, the default one if its name is not known."""
    processor = PROMPT_PROCESSORS.get(assistant.prompt_processor)
    return processor or PROMPT_PROCESSORS[prompts.DEFAULT]
