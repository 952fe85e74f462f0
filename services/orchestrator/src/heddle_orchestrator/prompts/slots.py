"""The texts for the slots of a template."""

from collections.abc import Callable, Sequence

from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.tool.v1 import tool_pb2

from heddle_orchestrator.prompts.template import USER_INPUT, names
from heddle_orchestrator.tools.bindings import BoundTool


def fill(
    template: str,
    bound: Sequence[BoundTool],
    *,
    cite: bool,
    show: Callable[[BoundTool], str] | None = None,
) -> dict[str, str]:
    """Return the text of each slot. Tools that share a slot are joined in order.

    Args:
        template: The template with the slots.
        bound: The tools with their outcomes.
        cite: Whether the sources are listed below a tool's text.
        show: Returns the text of a tool; by default its own text.
    """
    slots: dict[str, str] = {}
    for each in bound:
        text = note(each) if each.error else (show(each) if show else each.text)
        if cite and text and not each.error:
            text += citations(each.sources)
        slot = each.slot or _orphan(template, bound)
        slots[slot] = "\n\n".join(filter(None, (slots.get(slot, ""), text)))
    return slots


def note(bound: BoundTool) -> str:
    """Return the text that replaces the text of a failed tool."""
    failure = bound.failure
    if failure is None or bound.binding.on_failure == pb.FAILURE_POLICY_OMIT:
        return ""
    return f"[The tool {bound.tool} failed: {failure.message} Its result is not available.]"


def citations(sources: Sequence[tool_pb2.Source]) -> str:
    """Return a numbered list of the sources that have an address, in LAMB's form."""
    lines = [
        f"{number}. [{source.title}]({source.uri}) (similarity: {source.score:.3f})"
        for number, source in enumerate((s for s in sources if s.uri), start=1)
    ]
    return "\n\n## Available Sources\n\n" + "\n".join(lines) if lines else ""


def _orphan(template: str, bound: Sequence[BoundTool]) -> str:
    """Return the slot of a failed tool whose slot is not known.

    That is the first name of the template that no other tool fills: if the tools service is
    unavailable, the model must still read that a result is missing.
    """
    filled = {USER_INPUT, *(each.slot for each in bound)}
    return next((name for name in names(template) if name not in filled), USER_INPUT)
