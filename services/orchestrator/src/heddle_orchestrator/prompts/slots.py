"""The texts for the slots of a template, and the notes for the model beside them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.prompts.template import USER_INPUT, Template
from heddle_orchestrator.tools.bindings import BoundTool

SEPARATOR = "\n\n"
"""Separates the texts of tools that share a slot."""


Piece = tuple[str, BoundTool, str]
"""A contribution to a prompt: the slot (empty for a note), the tool, and the text."""


@dataclass(frozen=True, slots=True)
class FilledSlots:
    """The texts and notes that tools contribute to a prompt."""

    texts: dict[str, str] = field(default_factory=dict)
    """The text of each slot."""
    notes: list[str] = field(default_factory=list)
    """Sentences about tools whose output has no slot in the template."""
    pieces: list[Piece] = field(default_factory=list)
    """The same texts and notes, by tool."""


def fill(
    template: Template,
    bound: Sequence[BoundTool],
    *,
    cite: bool,
    show: Callable[[BoundTool], str] | None = None,
    system_slots: Sequence[str] = (),
) -> FilledSlots:
    """Return the text of each slot. Tools that share a slot are joined in order.

    Args:
        template: The template with the slots.
        bound: The tools with their outcomes.
        cite: Whether the sources are listed below a tool's text.
        show: Returns the text of a tool; by default its own text.
        system_slots: Slots outside of the template, whose sources are not listed.
    """
    filled = FilledSlots()
    # Without a template, the model receives the conversation unchanged.
    available = {*template.slots(), *system_slots} - {USER_INPUT}
    if not template.text:
        bound = [each for each in bound if each.slot in available]
    for each in bound:
        text = note(each) if each.error else (show(each) if show else each.text)
        if cite and text and not each.error and each.slot not in system_slots:
            list_sources = all_citations if template.is_literal else citations
            text += list_sources(each.sources)
        slot = each.slot or _free_slot(template, bound)
        if slot in available:
            earlier = filled.texts.get(slot, "")
            separator = SEPARATOR if earlier and text else ""
            filled.texts[slot] = f"{earlier}{separator}{text}"
        elif text and not (template.is_literal and slot):  # such a tool's text is left out there
            slot, text = "", text if each.error else _without_slot(each)
            filled.notes.append(text)
        if text:
            filled.pieces.append((slot, each, text))
    return filled


def note(bound: BoundTool) -> str:
    """Return the text that replaces the text of a failed tool."""
    failure = bound.failure
    if failure is None or bound.binding.on_failure == pb.FAILURE_POLICY_OMIT:
        return ""
    return f"[The tool {bound.tool} failed: {failure.message} Its result is not available.]"


def citations(sources: Sequence[tool_pb2.Source]) -> str:
    """Return a numbered list of the sources that have an address."""
    lines = [
        f"{number}. [{source.title}]({source.uri}) (similarity: {source.score:.3f})"
        for number, source in enumerate((s for s in sources if s.uri), start=1)
    ]
    return "\n\n## Available Sources\n\n" + "\n".join(lines) if lines else ""


def all_citations(sources: Sequence[tool_pb2.Source]) -> str:
    """Return the list of all sources for a literal template: each line ends with a line break.

    It has files and rubrics without an address and without a similarity, too.
    """
    lines = [
        f"{number}. [{_file_title(source)}]({source.uri}) "
        f"(similarity: {source.score if source.uri or source.kind == 'passage' else 0:.3f})\n"
        for number, source in enumerate(sources, start=1)
    ]
    return "\n\n## Available Sources\n\n" + "".join(lines) if lines else ""


def _file_title(source: tool_pb2.Source) -> str:
    return PurePosixPath(source.title).name if source.kind == "file" else source.title


def _without_slot(bound: BoundTool) -> str:
    return (
        f"[The tool {bound.tool} has a result, but the prompt has no place for it. "
        "Its result is not available.]"
    )


def _free_slot(template: Template, bound: Sequence[BoundTool]) -> str:
    """Return the slot of a failed tool whose slot is not known; empty if all are taken.

    That is the first slot of the template that no other tool fills: if the tools service is
    unavailable, the model must still read that a result is missing.
    """
    taken = {USER_INPUT, *(each.slot for each in bound)}
    return next((name for name in template.slots() if name not in taken), "")
