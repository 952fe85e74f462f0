"""The system prompt first, the history as it is, the template in place of the last message."""

from collections.abc import Mapping, Sequence

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2

from heddle_orchestrator.template import USER_INPUT, render

_ANSWERS = (chat_pb2.ROLE_ASSISTANT, chat_pb2.ROLE_TOOL)


class SimpleAugment:
    """Fills the template with the person's words and the tools' output."""

    name = "simple_augment"
    description = "Puts the filled template in place of the last message of the person."

    def equipped(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
        """Return the assistant as it is: its author's tools are all there are."""
        return assistant

    def prompt(
        self,
        assistant: assistant_pb2.Assistant,
        messages: Sequence[chat_pb2.Message],
        slots: Mapping[str, str],
    ) -> list[chat_pb2.Message]:
        """Return the conversation that the model gets."""
        prompt = list(messages)
        position = _to_rewrite(prompt)
        if assistant.prompt_template and position is not None:
            prompt[position] = _rewritten(prompt[position], assistant, slots)
        if assistant.system_prompt and messages:
            system = chat_pb2.ContentPart(text=assistant.system_prompt)
            prompt.insert(0, chat_pb2.Message(role=chat_pb2.ROLE_SYSTEM, parts=[system]))
        return prompt


def said(message: chat_pb2.Message) -> str:
    """Return the words of a message: its texts, joined by a space."""
    return " ".join(part.text for part in message.parts if part.HasField("text"))


def _to_rewrite(messages: Sequence[chat_pb2.Message]) -> int | None:
    """Return the place of the last message, or of the last user's behind answers and tool results.

    A client that runs functions itself sends its results last; those must reach the model as
    they are, and the question that the template wraps stands before them.
    """
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role not in _ANSWERS:
            return position
    return None


def _rewritten(
    message: chat_pb2.Message, assistant: assistant_pb2.Assistant, slots: Mapping[str, str]
) -> chat_pb2.Message:
    text = render(assistant.prompt_template, {**slots, USER_INPUT: said(message)})
    rewritten = chat_pb2.Message()
    rewritten.CopyFrom(message)
    del rewritten.parts[:]
    rewritten.parts.add(text=text)
    if assistant.capabilities.vision:
        rewritten.parts.extend(part for part in message.parts if not part.HasField("text"))
    return rewritten
