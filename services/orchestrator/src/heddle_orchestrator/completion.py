"""One answer: the assistant, its tools, its prompt, its model."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.boundary import Context
from heddle_runtime.calls import Stopwatch, onward, remaining
from heddle_runtime.client import streaming
from heddle_runtime.errors import (
    InvalidRequestError,
    ProviderGarbledError,
    Violation,
)

from heddle_orchestrator import prompt_processors, strategies
from heddle_orchestrator.assistants import BY_ID, Assistants, owned_by_caller
from heddle_orchestrator.bindings import Bound, bound_for, stop_on_failure
from heddle_orchestrator.execution import Events, ToolRun
from heddle_orchestrator.functions import Functions, Generate
from heddle_orchestrator.metering.counting import counting
from heddle_orchestrator.metering.meter import Meter
from heddle_orchestrator.prompt_processors import PROMPT_PROCESSORS, PromptProcessor
from heddle_orchestrator.slots import fill
from heddle_orchestrator.strategies import STRATEGIES, Strategy
from heddle_orchestrator.trace import model_steps, trace

if TYPE_CHECKING:
    from heddle.connector.v1.connector_pb2_grpc import ConnectorServiceAsyncStub
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

MERGING = "merging tool outputs"
_CUT_OFF = "The connector's answer was cut off."


@dataclass(frozen=True, slots=True)
class Completions:
    """Answers conversations."""

    tools: "ToolServiceAsyncStub"
    connectors: "ConnectorServiceAsyncStub"
    assistants: Assistants
    tool_timeout: float
    functions: Functions
    max_prompt_chars: int
    meter: Meter

    async def run(
        self, request: pb.RunCompletionRequest, context: Context, *, watched: bool
    ) -> AsyncGenerator[Events]:
        """Yield what happens while the assistant answers, in batches.

        Args:
            request: What to answer.
            context: Of the call.
            watched: Somebody reads the events as they come.

        Raises:
            HeddleError: There is no answer: the assistant is unknown or wrong or has spent its
                quota, the connector failed, or a tool that must not fail did.
        """
        assistant = await self._assistant(request, context)
        strategy = _strategy(assistant.strategy)
        processor = _processor(assistant.prompt_processor)
        left = remaining(context)
        equipped = processor.equipped(assistant)
        bound = bound_for(assistant_pb2.MODE_AUGMENT, equipped, self.tool_timeout, left)
        callable_ = bound_for(assistant_pb2.MODE_FUNCTION, assistant, self.tool_timeout, left)
        if bound:
            run = self._tool_run(request, assistant, context, watched=watched)
            async with aclosing(strategy.run(run, bound)) as happened:
                async for events in happened:
                    yield events
            stop_on_failure(bound)
            if watched:
                yield [pb.RunEvent(status=pb.Status(message=MERGING))]
        prompt = self._prompt(assistant, processor, request.messages, bound)
        watch = Stopwatch()
        chars = 0
        replaced: chat_pb2.ModelReplaced | None = None
        whole = connector_pb2.GenerateWholeMessageRequest()
        _order(whole.generation, request, assistant, prompt)
        generate: Generate = partial(
            self._generate if watched else self._generate_whole, context=context
        )
        called: list[Bound] = []
        if callable_:
            run = self._tool_run(request, assistant, context, watched=watched)
            generate = self.functions.answering(generate, run, callable_, called)
        count = counting(self.meter, request, assistant)
        async with count as counted, aclosing(generate(whole)) as generated:
            async for events in generated:
                counted.last = events
                if not chars and events[0].HasField("model_replaced"):
                    replaced = events[0].model_replaced
                chars += sum(len(event.text_delta) for event in events)
                if events[-1].HasField("done") and (request.include_trace or assistant.verbose):
                    steps = model_steps(watch.seconds(), chars, replaced)
                    told = trace(assistant, processor, request.messages, bound, called, steps)
                    events.insert(-1, told)
                yield events

    async def _assistant(
        self, request: pb.RunCompletionRequest, context: Context
    ) -> assistant_pb2.Assistant:
        match request.WhichOneof("target"):
            case "assistant":
                if request.charged_to:
                    await self.assistants.get(f"{BY_ID}{request.charged_to}", context)
                return owned_by_caller(request.assistant)
            case "assistant_reference":
                return await self.assistants.get(request.assistant_reference, context)
            case None:
                violation = Violation("assistant_reference", "is required, or assistant")
                raise InvalidRequestError("The request names no assistant.", [violation])

    def _tool_run(
        self,
        request: pb.RunCompletionRequest,
        assistant: assistant_pb2.Assistant,
        context: Context,
        *,
        watched: bool,
    ) -> ToolRun:
        shared = tool_pb2.RunContext(
            messages=request.messages,
            options=request.options,
            assistant=assistant,
            streaming=watched,
        )
        return ToolRun(self.tools, context, shared, watched=watched)

    def _prompt(
        self,
        assistant: assistant_pb2.Assistant,
        processor: PromptProcessor,
        messages: Sequence[chat_pb2.Message],
        bound: Sequence[Bound],
    ) -> list[chat_pb2.Message]:
        slots = fill(assistant.prompt_template, bound, cite=assistant.cite_sources)
        prompt = processor.prompt(assistant, messages, slots)
        size = sum(len(part.text) for message in prompt for part in message.parts)
        if size > self.max_prompt_chars:
            message = (
                f"The prompt has {size} characters; at most {self.max_prompt_chars} are sent. "
                "Shorten the conversation, or let the tools return less."
            )
            raise InvalidRequestError(message, [Violation("messages", "are too long")])
        return prompt

    async def _generate_whole(
        self, request: connector_pb2.GenerateWholeMessageRequest, context: Context
    ) -> AsyncGenerator[Events]:
        response = await self.connectors.GenerateWholeMessage(request, **onward(context))
        events = [event for e in response.events if (event := _forwarded(e))]
        if not (events and events[-1].HasField("done")):
            raise ProviderGarbledError(_CUT_OFF)
        yield events

    async def _generate(
        self, request: connector_pb2.GenerateWholeMessageRequest, context: Context
    ) -> AsyncGenerator[Events]:
        call = self.connectors.GenerateMessage(request.generation, **onward(context))
        done = False
        async with streaming(call) as responses:
            # Read to the very end: a call that is left after its last event counts as cancelled.
            async for response in responses:
                events = [event for e in response.events if (event := _forwarded(e))]
                if events and not done:
                    done = events[-1].HasField("done")
                    yield events
        if not done:
            raise ProviderGarbledError(_CUT_OFF)


def _order(
    generation: connector_pb2.GenerateMessageRequest,
    request: pb.RunCompletionRequest,
    assistant: assistant_pb2.Assistant,
    prompt: Sequence[chat_pb2.Message],
) -> None:
    """Fill in what to generate, where it will be sent from: a prompt can be long."""
    generation.model.CopyFrom(assistant.model)
    generation.messages.extend(prompt)
    generation.options.CopyFrom(request.options)
    generation.functions.extend(request.functions)
    generation.assistant.CopyFrom(assistant)


def _forwarded(event: connector_pb2.GenerationEvent) -> pb.RunEvent | None:
    """Return an event of the connector as one of the run, where it has the same name."""
    match event.WhichOneof("event"):
        case "text_delta":  # nearly all of them
            return pb.RunEvent(text_delta=event.text_delta)
        case None:  # an event of a newer contract
            return None
        case kind:
            same: dict[str, Any] = {kind: getattr(event, kind)}
            return pb.RunEvent(**same)


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
