"""The ways of making a prompt, by name."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.prompt_processors.moodle_augment import MoodleAugment
from heddle_orchestrator.prompt_processors.simple_augment import SimpleAugment

DEFAULT = SimpleAugment.name


class PromptProcessor(Protocol):
    """A way of making a prompt of a conversation, a template and what the tools found."""

    name: str
    description: str

    def equipped(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
        """Return the assistant with the tools that this way needs. Changes not its argument."""

    def prompt(
        self,
        assistant: assistant_pb2.Assistant,
        messages: Sequence[chat_pb2.Message],
        slots: Mapping[str, str],
    ) -> list[chat_pb2.Message]:
        """Return the conversation that the model gets. Changes none of its arguments."""


_ALL: tuple[PromptProcessor, ...] = (SimpleAugment(), MoodleAugment())
PROMPT_PROCESSORS = {processor.name: processor for processor in _ALL}
