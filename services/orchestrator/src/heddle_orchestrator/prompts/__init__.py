"""Prompt processors, by name."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.prompts.moodle_augment import MoodleAugment
from heddle_orchestrator.prompts.simple_augment import SimpleAugment

DEFAULT = SimpleAugment.name


class PromptProcessor(Protocol):
    """Creates the prompt from a conversation, a template and the results of tools."""

    name: str
    description: str

    def equipped(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
        """Return a copy of the assistant with the tools that this processor needs."""

    def prompt(
        self,
        assistant: assistant_pb2.Assistant,
        messages: Sequence[chat_pb2.Message],
        slots: Mapping[str, str],
    ) -> list[chat_pb2.Message]:
        """Return the messages for the model. Does not change its arguments."""


_ALL: tuple[PromptProcessor, ...] = (SimpleAugment(), MoodleAugment())
PROMPT_PROCESSORS = {processor.name: processor for processor in _ALL}
