"""The prompt processor `moodle_augment`: adds a slot with the user's identifier in Moodle."""

from heddle.assistant.v1 import assistant_pb2

from heddle_orchestrator.prompts.simple_augment import SimpleAugment

SLOT = "moodle_user"
_TOOL = "moodle_user"
_AUGMENT_MODES = (assistant_pb2.MODE_UNSPECIFIED, assistant_pb2.MODE_AUGMENT)


class MoodleAugment(SimpleAugment):
    """Runs the tool `moodle_user` if the template has the slot `{moodle_user}`."""

    name = "moodle_augment"
    description = "Like simple_augment; {moodle_user} is the user's identifier in Moodle."
    slots = (SLOT,)
    inline_slots = frozenset(slots)

    def equipped(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
        """Return the assistant with the tool, unless the slot is unused or already filled."""
        if SLOT not in self.template(assistant).slots() or any(map(_fills, assistant.tools)):
            return assistant
        equipped = assistant_pb2.Assistant()
        equipped.CopyFrom(assistant)
        equipped.tools.add(tool=_TOOL, slot=SLOT, on_failure=assistant_pb2.FAILURE_POLICY_OMIT)
        return equipped


def _fills(binding: assistant_pb2.ToolBinding) -> bool:
    slot = binding.slot or (SLOT if binding.tool == _TOOL else "")
    return slot == SLOT and not binding.disabled and binding.mode in _AUGMENT_MODES
