"""What a run will do: decided before anything is done."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import Stopwatch
from heddle_runtime.errors import InvalidRequestError, Violation
from heddle_runtime.server_interceptor import Context

from heddle_orchestrator import prompt_processors, strategies
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.bindings import Bound, bound_for, stop_on_failure
from heddle_orchestrator.prompt_processors import PROMPT_PROCESSORS, PromptProcessor
from heddle_orchestrator.slots import fill
from heddle_orchestrator.strategies import STRATEGIES, Routing, Strategy
from heddle_orchestrator.trace import model_steps, trace

if TYPE_CHECKING:
    from heddle_orchestrator.forwarding import Events


@dataclass(slots=True)
class Plan:
    """The assistant's answer to one request, and what became of its tools."""

    request: pb.RunCompletionRequest
    assistant: assistant_pb2.Assistant
    strategy: Strategy
    processor: PromptProcessor
    bound: Sequence[Bound]
    """The tools that run before the model."""
    callable_: Sequence[Bound]
    """The tools that the model may call."""
    routed: Sequence[Bound]
    """The tools that the routing agent chooses among."""
    traced: bool
    """Whether what was done is told before the end."""
    called: list[Bound] = field(default_factory=list)
    """What the model called."""
    state: State | None = None
    """Of the agent's run, if one routes and has begun."""

    @property
    def routing(self) -> Routing | None:
        """How the agent decides, if one routes."""
        return self.strategy if isinstance(self.strategy, Routing) else None

    def tool_context(self, grant: str, *, watched: bool) -> tool_pb2.RunContext:
        """Return what every tool may know.

        Args:
            grant: The right to read collections, as `heddle_runtime.grants` signs it.
            watched: Whether somebody reads the status messages of tools.
        """
        return tool_pb2.RunContext(
            messages=self.request.messages,
            options=self.request.options,
            assistant=self.assistant,
            streaming=watched,
            grant=grant,
        )

    def stop_on_failure(self) -> None:
        """Raise the failure of the first tool that must not fail."""
        stop_on_failure(self.bound)

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

    def tracing(self) -> "Tracing | None":
        """Return what traces the model's part, which begins now; None if nobody wants to know."""
        return Tracing(self) if self.traced else None


class Tracing:
    """Looks at what happens, and tells before the end what was done."""

    __slots__ = ("_chars", "_plan", "_replaced", "_watch")

    def __init__(self, planned: Plan) -> None:
        self._plan = planned
        self._watch = Stopwatch()
        self._chars = 0
        self._replaced: chat_pb2.ModelReplaced | None = None

    def take(self, events: "Events") -> None:
        """Take note of events; if the last one is `done`, put the trace before it."""
        for event in events:
            self._chars += len(event.text_delta)
            if event.HasField("model_replaced"):
                self._replaced = event.model_replaced
        if events[-1].HasField("done"):
            last = events.pop()
            events.extend([self._trace(), last])

    def _trace(self) -> pb.RunEvent:
        planned = self._plan
        steps = model_steps(self._watch.seconds(), self._chars, self._replaced)
        return trace(
            planned.assistant,
            planned.processor,
            planned.request.messages,
            planned.bound,
            planned.called,
            steps,
            planned.state,
        )


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
    processor = _processor(assistant.prompt_processor)
    equipped = processor.equipped(assistant)
    return Plan(
        request,
        assistant,
        _strategy(assistant.strategy),
        processor,
        bound_for(assistant_pb2.MODE_AUGMENT, equipped, tool_timeout, context),
        bound_for(assistant_pb2.MODE_FUNCTION, assistant, tool_timeout, context),
        bound_for(assistant_pb2.MODE_AGENT, assistant, tool_timeout, context),
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
