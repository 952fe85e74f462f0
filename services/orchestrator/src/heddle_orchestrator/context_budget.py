"""Leaves out the oldest turns of a conversation that is longer than its model can read.

How much a model reads is learned from its refusals: few providers say it before. Sizes are counted
in characters, so that no tokenizer is needed. The instructions stay in front, and the place of the
cut moves in steps of half the budget, so that the prompts of several turns begin with the same text
and the caches of providers work.
"""

import re
from collections import OrderedDict
from collections.abc import Sequence

from heddle.chat.v1 import chat_pb2
from heddle.connector.v1.connector_pb2 import GenerateWholeMessageRequest
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import HeddleError

_TOO_LONG = "context_length_exceeded"
# Of providers without a code for it.
_TEXT = re.compile(
    r"context (?:length|window|size)|maximum context|(?:prompt|input) is too long|too many tokens",
    re.IGNORECASE,
)
_INSTRUCTIONS = (chat_pb2.ROLE_SYSTEM, chat_pb2.ROLE_DEVELOPER)
_MEDIA_CHARACTERS = 4_000
"""What an image or a file counts for."""
_KNOWN_MODELS = 1_000
_SHARE = 0.6
"""The share of a refused prompt that is tried next."""
Model = tuple[str, str, str]
"""An organisation, a connector and a model of it."""


def is_too_long(error: HeddleError) -> bool:
    """Return whether a model refused a prompt because of its length."""
    code = error.metadata.get("provider_code", "")
    refused = "http_status" in error.metadata
    return code == _TOO_LONG or (refused and _TEXT.search(error.message) is not None)


class ContextBudgets:
    """The budgets of models that have refused a prompt."""

    def __init__(self) -> None:
        self._budgets: OrderedDict[Model, int] = OrderedDict()

    def fit(self, model: Model, request: GenerateWholeMessageRequest) -> int:
        """Leave out messages beyond the budget of a model; return how many."""
        budget = self._budgets.get(model)
        return 0 if budget is None else _cut(request.generation.messages, budget)

    def refuse(self, model: Model, request: GenerateWholeMessageRequest) -> int:
        """Note that a prompt was too long, and leave out messages of it; return how many."""
        messages = request.generation.messages
        size = sum(map(_size, messages))
        self._budgets[model] = budget = int(size * _SHARE)
        self._budgets.move_to_end(model)
        if len(self._budgets) > _KNOWN_MODELS:
            self._budgets.popitem(last=False)
        return _cut(messages, budget) or _cut(messages, 0)


def warning(count: int) -> pb.RunEvent:
    """Return the event about messages that were left out."""
    text = (
        f"The conversation is longer than the model can read: its {count} oldest messages were "
        "left out of this turn."
    )
    return pb.RunEvent(warning=text)


def _cut(messages: "Sequence[chat_pb2.Message]", budget: int) -> int:
    """Remove the oldest turns after the instructions until the rest fits into a budget."""
    first = next((i for i, it in enumerate(messages) if it.role not in _INSTRUCTIONS), 0)
    sizes = [_size(each) for each in messages]
    excess = sum(sizes) - budget
    if excess <= 0:
        return 0
    step = max(budget // 2, 1)
    target = -(-excess // step) * step  # rounded up, so that the place stays for some turns
    starts = [
        index
        for index in range(first + 1, len(messages))
        if messages[index].role == chat_pb2.ROLE_USER
    ]
    gone, end, index = 0, first, first
    for start in starts:
        gone += sum(sizes[index:start])
        index = end = start
        if gone >= target:
            break
    del messages[first:end]  # type: ignore[attr-defined] # a repeated field
    return end - first


def _size(message: chat_pb2.Message) -> int:
    size = sum(
        len(part.text) if part.HasField("text") else _MEDIA_CHARACTERS for part in message.parts
    )
    return size + sum(len(each.arguments_json) for each in message.tool_calls)
