"""Prepares an assistant once: whatever all runs derive from it alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from heddle.assistant.v1.assistant_pb2 import TEMPLATE_SYNTAX_LAMB, Assistant
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
    disabled_tools: Sequence[str]
    """The disabled tools whose bindings do not name the slots that stay empty in the template."""
    has_unnamed_tool: bool
    generation: GenerateMessageRequest
    """The members that all requests to the model share: the model and the assistant."""

    @property
    def has_tools(self) -> bool:
        """Whether the assistant has at least one tool, in any mode."""
        return bool(self.equipped.tools)


def prepare(assistant: Assistant) -> PreparedAssistant:
    """Check an assistant and return it ready to run. Later changes of it have no effect.

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
        disabled_tools=_disabled_tools(assistant),
        has_unnamed_tool=any(is_unnamed(binding) for binding in assistant.tools),
        generation=GenerateMessageRequest(model=model, assistant=assistant),
    )


def _disabled_tools(assistant: Assistant) -> Sequence[str]:
    if assistant.template_syntax != TEMPLATE_SYNTAX_LAMB:  # where each name is a slot
        return ()
    return [each.tool for each in assistant.tools if each.disabled and not each.slot]


def _named(field: str, name: str, known: Mapping[str, ValueT]) -> ValueT:
    """Return the strategy or prompt processor that a field of the assistant names."""
    if name not in known:
        violation = Violation(
            f"assistant.{field}", f"is {name!r}; known are {', '.join(sorted(known))}"
        )
        raise InvalidRequestError(f"The assistant's {field} is unknown.", [violation])
    return known[name]
