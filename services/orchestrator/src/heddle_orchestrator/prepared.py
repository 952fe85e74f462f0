"""An assistant with what every run of it derives from it alone, so that this happens once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.connector.v1.connector_pb2 import GenerateMessageRequest
from heddle_runtime.errors import InvalidRequestError, Violation

from heddle_orchestrator import prompts, strategies
from heddle_orchestrator.prompts import PROMPT_PROCESSORS
from heddle_orchestrator.prompts.simple_augment import SimpleAugment
from heddle_orchestrator.prompts.template import slots_of
from heddle_orchestrator.strategies import STRATEGIES, Strategy
from heddle_orchestrator.tools.bindings import is_unnamed

ValueT = TypeVar("ValueT")


@dataclass(frozen=True, slots=True)
class PreparedAssistant:
    """An assistant that can run. All of it is read-only: many runs share it."""

    assistant: Assistant
    connector: str
    model: str
    """The connector's name of the model."""
    strategy: Strategy
    processor: SimpleAugment
    equipped: Assistant
    """The assistant with the tools that its prompt processor needs."""
    template_slots: frozenset[str]
    """The slots of the template and of the prompt processor."""
    has_unnamed_tool: bool
    generation: GenerateMessageRequest
    """What requests to its model have in common: the model and the assistant."""

    @property
    def has_tools(self) -> bool:
        """Whether a run has any tool, in any mode."""
        return bool(self.equipped.tools)


def prepare(assistant: Assistant) -> PreparedAssistant:
    """Return an assistant that can run. Its later changes are not noticed.

    Raises:
        InvalidRequestError: It has no model, or names an unknown strategy or prompt processor.
    """
    model = assistant.model
    missing = [name for name in ("connector", "model") if not getattr(model, name)]
    if missing:
        violations = [Violation(f"assistant.model.{name}", "is required") for name in missing]
        raise InvalidRequestError("The assistant has no model.", violations)
    processor = _named(
        "prompt_processor", assistant.prompt_processor or prompts.DEFAULT, PROMPT_PROCESSORS
    )
    slots = slots_of(assistant.prompt_template, assistant.template_syntax)
    return PreparedAssistant(
        assistant=assistant,
        connector=model.connector,
        model=model.model,
        strategy=_named("strategy", assistant.strategy or strategies.DEFAULT, STRATEGIES),
        processor=processor,
        equipped=processor.equipped(assistant),
        template_slots=slots | {*processor.system_slots},
        has_unnamed_tool=any(is_unnamed(binding) for binding in assistant.tools),
        generation=GenerateMessageRequest(model=model, assistant=assistant),
    )


def _named(field: str, name: str, known: Mapping[str, ValueT]) -> ValueT:
    """Return the part of a run that a field of the assistant names."""
    if name not in known:
        violation = Violation(
            f"assistant.{field}", f"is {name!r}; known are {', '.join(sorted(known))}"
        )
        raise InvalidRequestError(f"The assistant's {field} is unknown.", [violation])
    return known[name]
