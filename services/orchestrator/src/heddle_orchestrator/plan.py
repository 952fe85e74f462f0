"""What a run will do: decided before anything is done."""

from collections.abc import Sequence
from dataclasses import dataclass

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.boundary import Context
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation

from heddle_orchestrator import prompt_processors, strategies
from heddle_orchestrator.bindings import Bound, augmenting
from heddle_orchestrator.prompt_processors import PROMPT_PROCESSORS, PromptProcessor
from heddle_orchestrator.slots import fill
from heddle_orchestrator.strategies import STRATEGIES, Strategy
from heddle_orchestrator.trace import model_step, trace


@dataclass(slots=True)
class Plan:
    """The assistant's answer to one request, and what became of its tools."""

    request: pb.RunCompletionRequest
    assistant: assistant_pb2.Assistant
    strategy: Strategy
    processor: PromptProcessor
    bound: Sequence[Bound]
    traced: bool
    """Whether what was done is told before the end."""

    def tool_context(self, *, watched: bool) -> tool_pb2.RunContext:
        """Return what every tool may know. `watched` says that somebody reads what it tells."""
        return tool_pb2.RunContext(
            messages=self.request.messages,
            options=self.request.options,
            assistant=self.assistant,
            streaming=watched,
        )

    def stop_on_failure(self) -> None:
        """Raise the failure of the first tool that must not fail."""
        for each in self.bound:
            failure: HeddleError | None = each.failure
            if failure and each.binding.on_failure == assistant_pb2.FAILURE_POLICY_FAIL:
                raise failure

    def order(self, max_prompt_chars: int) -> connector_pb2.GenerateWholeMessageRequest:
        """Return what to generate, now that the tools have run.

        Raises:
            InvalidRequestError: The prompt has more than `max_prompt_chars` characters.
        """
        assistant = self.assistant
        slots = fill(assistant.prompt_template, self.bound, cite=assistant.cite_sources)
        prompt = self.processor.prompt(assistant, self.request.messages[:], slots)
        _check_size(prompt, max_prompt_chars)
        order = connector_pb2.GenerateWholeMessageRequest()
        # Filled in where it will be sent from: a prompt can be long.
        generation = order.generation
        generation.model.CopyFrom(assistant.model)
        for turn in prompt:  # `extend` would write and read each
            generation.messages.add().CopyFrom(turn)
        generation.options.CopyFrom(self.request.options)
        if functions := self.request.functions[:]:
            generation.functions.extend(functions)
        generation.assistant.CopyFrom(assistant)
        return order

    def trace(self, seconds: float, chars: int) -> pb.RunEvent:
        """Return what was done, the model having written `chars` characters in `seconds`."""
        step = model_step(seconds, chars)
        return trace(self.assistant, self.processor, self.request.messages, self.bound, step)


def plan(
    request: pb.RunCompletionRequest,
    assistant: assistant_pb2.Assistant,
    tool_timeout: float,
    context: Context,
) -> Plan:
    """Return what to do.

    Args:
        request: What to answer.
        assistant: Who answers.
        tool_timeout: Seconds for a tool whose binding sets no limit.
        context: Of the run.

    Raises:
        InvalidRequestError: The assistant is wrong.
    """
    return Plan(
        request,
        assistant,
        _strategy(assistant.strategy),
        _processor(assistant.prompt_processor),
        augmenting(assistant, tool_timeout, context),
        request.include_trace or assistant.verbose,
    )


def _check_size(prompt: Sequence[chat_pb2.Message], most: int) -> None:
    size = sum([len(part.text) for message in prompt for part in message.parts[:]])
    if size > most:
        message = (
            f"The prompt has {size} characters; at most {most} are sent. "
            "Shorten the conversation, or let the tools return less."
        )
        raise InvalidRequestError(message, [Violation("messages", "are too long")])


def _strategy(name: str) -> Strategy:
    found = STRATEGIES.get(name or strategies.DEFAULT)
    if found is None:
        raise _unknown("strategy", name, STRATEGIES)
    return found


def _processor(name: str) -> PromptProcessor:
    found = PROMPT_PROCESSORS.get(name or prompt_processors.DEFAULT)
    if found is None:
        raise _unknown("prompt_processor", name, PROMPT_PROCESSORS)
    return found


def _unknown(
    field: str, name: str, known: dict[str, Strategy] | dict[str, PromptProcessor]
) -> InvalidRequestError:
    violation = Violation(
        f"assistant.{field}", f"is {name!r}; known are {', '.join(sorted(known))}"
    )
    return InvalidRequestError(f"The assistant's {field} is unknown.", [violation])
