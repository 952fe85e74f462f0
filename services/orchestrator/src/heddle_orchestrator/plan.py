"""The plan of a run: the assistant, its tools and its prompt."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace

from heddle.assistant.v1 import assistant_pb2
from heddle.connector.v1 import connector_pb2
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.conversations import message_text, question_index
from heddle_runtime.contract.default_model import DEFAULT_CONNECTOR
from heddle_runtime.errors import PermissionDeniedError
from heddle_runtime.identity.call_metadata import Context, caller

from heddle_orchestrator.agent.state import State
from heddle_orchestrator.prepared import PreparedAssistant, prepare
from heddle_orchestrator.prompts.images import WITHHELD, question_has_image, visible
from heddle_orchestrator.prompts.simple_augment import SimpleAugment
from heddle_orchestrator.prompts.slots import FilledSlots, fill
from heddle_orchestrator.prompts.template import Template
from heddle_orchestrator.quotes.answer import answer as quoting_answer
from heddle_orchestrator.quotes.answer import declining_answer
from heddle_orchestrator.strategies import Strategy
from heddle_orchestrator.tools.bindings import (
    BoundTool,
    all_searches_empty,
    bound_for,
    stop_on_failure,
)
from heddle_orchestrator.tools.confirmations import FUNCTION, RunConfirmations
from heddle_orchestrator.tools.failures import log_lost_tool

Responses = AsyncGenerator[pb.RunCompletionResponse]
Observe = Callable[[Responses], Responses]
AUTOMATIC = "auto"
"""The `empty_response` that stands for a sentence in the language of the question."""
_UNNAMED = "A tool of this assistant has no name, and was skipped. Tell the assistant's author."


@dataclass(slots=True)
class Plan:
    """The steps of one run, and the outcomes of its tools."""

    request: pb.RunCompletionRequest
    prepared: PreparedAssistant
    bound: Sequence[BoundTool]
    """The tools that run before the model."""
    callable_: Sequence[BoundTool]
    """The tools that the model may call."""
    routed: Sequence[BoundTool]
    """The tools that the routing agent chooses among."""
    traced: bool
    """Whether the run has a trace."""
    trace_texts: bool
    """Whether the trace has the texts of tools, models and users."""
    has_quota: bool
    """Whether answers must reserve their costs."""
    confirmations: RunConfirmations
    """The calls that the user confirmed and declined."""
    quota_nears_end: bool = False
    """Whether the last reservation says so."""
    grant: str = ""
    """The signed text that makes calls of other services a part of the run; see
    `heddle_runtime.identity.grants`."""
    called: list[BoundTool] = field(default_factory=list)
    """Collects the calls of the model or the agent."""
    state: State | None = None
    """The state of the agent's run, once it has begun."""
    empty_slots: Sequence[str] = ()
    """Slots of disabled tools whose bindings do not name them."""
    images_removed: bool = False
    """Whether images are missing in the prompt. Known after `generate_request`."""
    observe: Observe | None = None
    """Records each request to a model, if the run has a trace."""

    @property
    def assistant(self) -> assistant_pb2.Assistant:
        """The assistant that answers; read-only."""
        return self.prepared.assistant

    @property
    def strategy(self) -> Strategy:
        """The strategy that runs the tools of the assistant."""
        return self.prepared.strategy

    @property
    def processor(self) -> SimpleAugment:
        """The prompt processor of the assistant."""
        return self.prepared.processor

    @property
    def template(self) -> Template:
        """The template of the assistant, after the tools have run."""
        slots = [each.slot for each in self.bound]
        return self.processor.template(self.assistant, [*slots, *self.empty_slots])

    @property
    def cites(self) -> bool:
        """Whether the prompt lists the sources below the texts of tools."""
        return self.assistant.cite_sources and bool(self.assistant.prompt_template)

    def filled(self, *, cite: bool, show: Callable[[BoundTool], str] | None = None) -> FilledSlots:
        """Return the texts for the prompt, after the tools have run; see `fill`."""
        if not (self.bound or self.empty_slots):
            return FilledSlots()
        system_slots = self.processor.system_slots
        filled = fill(self.template, self.bound, cite=cite, show=show, system_slots=system_slots)
        for slot in self.empty_slots:
            filled.texts.setdefault(slot, "")
        return filled

    @property
    def loops(self) -> bool:
        """Whether the run may need more than one request to the model."""
        return bool(self.callable_) or self.strategy.router is not None

    def tool_context(self, *, watched: bool) -> tool_pb2.RunContext:
        """Return the context for tools; `watched` if the client reads events while they run."""
        return tool_pb2.RunContext(
            messages=self.request.messages,
            options=self.request.options,
            assistant=self.assistant,
            streaming=watched,
            grant=self.grant,
        )

    def extra_context(self, *, watched: bool) -> tool_pb2.RunContext | None:
        """Return the context for the client's tools: without a grant, as an own assistant's."""
        if not self.request.extra_tools:
            return None
        context, identity = self.tool_context(watched=watched), caller().identity
        context.ClearField("grant")
        own = assistant_pb2.Assistant(owner=identity.subject, organization=identity.organization)
        context.assistant.CopyFrom(own)
        return context

    @property
    def empty_response(self) -> str:
        """The answer that replaces the model's if searches find nothing; empty if it must answer.

        That is known after the tools of mode `augment` have run.
        """
        agent_decides = self.strategy.router is not None and not self.bound
        if self.callable_ or not (agent_decides or all_searches_empty(self.bound)):
            return ""
        text = self.assistant.empty_response
        return declining_answer(self._question) if text == AUTOMATIC else text

    @property
    def _question(self) -> str:
        messages = self.request.messages
        index = question_index(messages)
        return "" if index is None else message_text(messages[index])

    @property
    def may_quote(self) -> bool:
        """Whether the answer quotes what the tools found if no model is connected."""
        return self.prepared.connector == DEFAULT_CONNECTOR

    def quoting_answer(self) -> str:
        """Return the answer without a model, after the tools have run."""
        ran = [each for each in (*self.bound, *self.called) if each.error is None]
        sources = [source for each in ran for source in each.sources]
        return quoting_answer(self._question, sources, searched=bool(ran))

    def warnings(self) -> list[pb.RunEvent]:
        """Return warnings about the answer for the user. Call it after `generate_request`."""
        warnings = []
        if self.prepared.has_unnamed_tool:
            warnings.append(pb.RunEvent(warning=_UNNAMED))
            log_lost_tool("", "UNNAMED", f"A tool of assistant {self.assistant.id} has no name.")
        if self.images_removed and question_has_image(self.request.messages):
            warnings.append(pb.RunEvent(warning=WITHHELD))
        return warnings

    def stop_on_failure(self) -> None:
        """Raise the failure of the first tool whose policy is `fail`."""
        stop_on_failure(self.bound)

    def generate_request(self, max_prompt_chars: int) -> connector_pb2.GenerateWholeMessageRequest:
        """Return the request to the connector, after the tools have run.

        Raises:
            InvalidRequestError: The prompt has more than `max_prompt_chars` characters.
        """
        assistant = self.assistant
        slots = self.filled(cite=self.cites)
        messages = self.request.messages[:]
        visible_messages = visible(assistant, messages)
        self.images_removed = visible_messages is not messages
        prompt = self.processor.prompt(
            assistant,
            visible_messages,
            slots.texts,
            slots.notes,
            max_chars=max_prompt_chars,
        )
        request = connector_pb2.GenerateWholeMessageRequest()
        # Filled in place, because a prompt can be long.
        generation = request.generation
        generation.CopyFrom(self.prepared.generation)
        for message in prompt:  # `extend` would serialise and parse each message
            generation.messages.add().CopyFrom(message)
        generation.options.CopyFrom(self.request.options)
        if functions := self.request.functions[:]:
            # A model that could ask to confirm calls could describe them wrongly.
            generation.functions.extend(each for each in functions if each.name != FUNCTION)
        return request


def plan(
    request: pb.RunCompletionRequest,
    prepared: PreparedAssistant,
    tool_timeout: float,
    context: Context,
    confirmations: RunConfirmations,
    *,
    has_quota: bool = False,
    readable: bool = False,
) -> Plan:
    """Return the plan of a run.

    Args:
        request: The request of the client.
        prepared: The assistant that answers.
        tool_timeout: Seconds for a tool whose binding sets no timeout.
        context: The context of the run.
        confirmations: What the user confirmed and declined.
        has_quota: Whether the assistant that the run is charged to has a quota.
        readable: Whether the caller may read the assistant, so that the run can have a trace.

    Raises:
        InvalidRequestError: The assistant is not valid.
        PermissionDeniedError: The caller asks for a trace, and may not read the assistant.
    """
    assistant = prepared.assistant
    traced = _traced(request, assistant, readable=readable)
    if traced != assistant.verbose:  # tools and connectors see in it whether the run is traced
        assistant = assistant_pb2.Assistant.FromString(assistant.SerializeToString())
        assistant.verbose = traced
        prepared = prepare(assistant)
    bound, callable_, routed = _bound(prepared, tool_timeout, context)
    if request.extra_tools:
        client = assistant_pb2.Assistant(tools=request.extra_tools)
        extra = bound_for(assistant_pb2.MODE_FUNCTION, client, tool_timeout, context)
        callable_ = [*callable_, *(replace(each, extra=True) for each in extra)]
    texts = traced and readable and request.include_trace and request.include_trace_texts
    return Plan(
        request, prepared, bound, callable_, routed, traced, texts, has_quota, confirmations
    )


def _bound(
    prepared: PreparedAssistant, tool_timeout: float, context: Context
) -> tuple[Sequence[BoundTool], ...]:
    """Return the tools by mode: `augment`, `function`, `agent`."""
    if not prepared.has_tools:
        return (), (), ()
    assistant = prepared.assistant
    return (
        bound_for(
            assistant_pb2.MODE_AUGMENT,
            prepared.equipped,
            tool_timeout,
            context,
            prepared.template_slots,
        ),
        bound_for(assistant_pb2.MODE_FUNCTION, assistant, tool_timeout, context),
        bound_for(assistant_pb2.MODE_AGENT, assistant, tool_timeout, context),
    )


def _traced(
    request: pb.RunCompletionRequest, assistant: assistant_pb2.Assistant, *, readable: bool
) -> bool:
    """Return whether a run has a trace, which contains the prompt.

    Raises:
        PermissionDeniedError: The caller asks for one, and may use but not read the assistant.
    """
    if not (request.include_trace or assistant.verbose):
        return False
    if readable:
        return True
    if request.include_trace:
        raise PermissionDeniedError("Only those who may read the assistant get a trace of its run.")
    return False
