"""The prompt processor `kvcache_augment`: a document at the start of the system prompt.

The document is the same for every question, so the prompt caches of providers apply to it. The
texts around it never change by a byte, because imported assistants rely on them.
"""

from collections.abc import Iterable, Mapping

from heddle.assistant.v1 import assistant_pb2

from heddle_orchestrator.prompts.simple_augment import SimpleAugment
from heddle_orchestrator.prompts.template import CONTEXT, USER_INPUT, Template

DOCUMENT = "document"
_BEFORE = (
    "\n\n## REFERENCE DOCUMENT\n\n"
    "This document has been selected by the assistant creator as a reference that will likely be "
    "useful for many queries, as it is generally a helpful document. Use it as context when "
    "answering questions.\n\n"
)
_AFTER = (
    "\n\nIMPORTANT: The reference document above is available for this entire conversation. Always "
    "consider it alongside any retrieved context when answering questions. If the user's question "
    "relates to the document's content, use it."
)
_TEMPLATE = Template(
    "Use the following context to answer the question. If the context does not contain the "
    "answer, say you do not know.\n\nContext:\n{context}\n\nQuestion: {user_input}",
    frozenset({CONTEXT, USER_INPUT}),
)
"""The template of assistants that have none, if a tool finds text."""


class KvcacheAugment(SimpleAugment):
    """Places the text of the slot `document` before the system prompt."""

    name = "kvcache_augment"
    description = "Like simple_augment; a reference document comes before the system prompt."
    system_slots = (DOCUMENT,)

    def template(
        self, assistant: assistant_pb2.Assistant, tool_slots: Iterable[str] = ()
    ) -> Template:
        """Return the template; a default one if the assistant has none and a tool finds text."""
        slots = tuple(tool_slots)
        if not assistant.prompt_template and CONTEXT in slots:
            return _TEMPLATE
        return super().template(assistant, slots)

    def placed(
        self, assistant: assistant_pb2.Assistant, slots: Mapping[str, str]
    ) -> tuple[str, Mapping[str, str]]:
        """Return the system prompt with the document, and the texts without it."""
        texts = {name: text for name, text in slots.items() if name != DOCUMENT}
        if not assistant.prompt_template and not texts.get(CONTEXT):
            texts.pop(CONTEXT, None)  # the question is sent as it is
        document = slots.get(DOCUMENT, "")
        labelled = f"{_BEFORE}{document}{_AFTER}" if document else ""
        return "\n\n".join(filter(None, (labelled, assistant.system_prompt))), texts
