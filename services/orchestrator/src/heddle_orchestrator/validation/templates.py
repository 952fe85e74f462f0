"""Checks templates with the tools' own slots."""

from collections.abc import Mapping

from heddle.assistant.v1 import assistant_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.identity.call_metadata import Context

from heddle_orchestrator.tools.default_slots import DefaultSlots
from heddle_orchestrator.validation.template_findings import findings_of, slots_by_binding


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
        return findings_of(assistant, slots_by_binding(assistant, default_slots))
