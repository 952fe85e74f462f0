"""The prompt processor `simple_augment`: the filled template replaces the user's question."""

from collections.abc import Iterable, Mapping, Sequence

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle_runtime.contract.conversations import message_text, question_index
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_orchestrator.prompts.template import USER_INPUT, Template, template_of
from heddle_orchestrator.settings_schemas import PROMPT_SETTINGS, Schema


class SimpleAugment:
    """Fills the template with the user's words and the output of the tools."""

    name = "simple_augment"
    description = "Replaces the last message of the user with the filled template."
    settings: Schema = PROMPT_SETTINGS
    """The JSON Schema of the members of an assistant that it reads."""
    slots: Sequence[str] = ()
    """The slots that it fills itself."""
    inline_slots: frozenset[str] = frozenset()
    """The slots among `slots` that have no blank lines around them in a literal template."""
    system_slots: Sequence[str] = ()
    """The slots of tools that it places outside of the template."""

    def equipped(self, assistant: assistant_pb2.Assistant) -> assistant_pb2.Assistant:
        """Return the assistant with the tools that this processor needs; a copy if it adds any."""
        return assistant

    def template(
        self, assistant: assistant_pb2.Assistant, tool_slots: Iterable[str] = ()
    ) -> Template:
        """Return the template of an assistant, whose tools fill `tool_slots`."""
        slots = (*self.slots, *tool_slots)
        return template_of(assistant, slots, self.inline_slots, self.system_slots)

    def placed(
        self, assistant: assistant_pb2.Assistant, slots: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Return the system prompt, and the texts for the template."""
        return assistant.system_prompt, slots

    def prompt(
        self,
        assistant: assistant_pb2.Assistant,
        messages: Sequence[chat_pb2.Message],
        slots: Mapping[str, str],
        notes: Sequence[str] = (),
        *,
        max_chars: int,
    ) -> list[chat_pb2.Message]:
        """Return the messages for the model. Does not change its arguments.

        Args:
            assistant: The assistant.
            messages: The conversation, as the assistant's model may read it.
            slots: The texts for the slots of the template.
            notes: Sentences for the model, below the system prompt.
            max_chars: The most characters of all messages together.

        Raises:
            InvalidRequestError: The prompt would have more than `max_chars` characters. It is not
                built then.
        """
        prompt = list(messages)
        instructions, slots = self.placed(assistant, slots)
        template = self.template(assistant, slots)
        position = question_index(prompt) if template.text else None
        if position is not None:
            prompt[position] = _rewritten(prompt[position], template, slots, max_chars)
        system = "\n\n".join(filter(None, (instructions, *notes)))
        if system and messages:
            part = chat_pb2.ContentPart(text=system)
            prompt.insert(0, chat_pb2.Message(role=chat_pb2.ROLE_SYSTEM, parts=[part]))
        size = sum([len(part.text) for message in prompt for part in message.parts[:]])
        _check_size(size, max_chars)
        return prompt


def _rewritten(
    message: chat_pb2.Message,
    template: Template,
    slots: Mapping[str, str],
    max_chars: int,
) -> chat_pb2.Message:
    texts = {**slots, USER_INPUT: message_text(message)}
    _check_size(template.rendered_length(texts), max_chars)
    text = template.render(texts)
    rewritten = chat_pb2.Message()
    rewritten.CopyFrom(message)
    del rewritten.parts[:]
    rewritten.parts.add(text=text)
    rewritten.parts.extend(part for part in message.parts if not part.HasField("text"))
    return rewritten


def _check_size(size: int, max_chars: int) -> None:
    if size > max_chars:
        message = (
            f"The prompt has {size} characters; the limit is {max_chars}. "
            "Shorten the conversation, or let the tools return less."
        )
        raise InvalidRequestError(message, [Violation("messages", "are too long")])
