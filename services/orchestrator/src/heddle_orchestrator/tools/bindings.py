"""The tools of an assistant, ready to run."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from google.protobuf.duration_pb2 import Duration
from google.rpc import status_pb2
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.limits import MAX_TOOLS
from heddle_runtime.errors import HeddleError, InvalidRequestError, Violation, from_status
from heddle_runtime.identity.call_metadata import Context, remaining

from heddle_orchestrator.tools.function_call import FunctionCall


@dataclass(slots=True)
class BoundTool:
    """A run of a tool, and its outcome."""

    id: str
    """The id of the binding or of the call. Unique in its step."""
    binding: pb.ToolBinding
    timeout: float
    """Seconds."""
    slot: str = ""
    """The slot that the tool fills. Empty until it is known."""
    template_slots: frozenset[str] | None = None
    """The slots of the template. None if the tool fills no slot."""
    text: str = ""
    result_count: int | None = None
    """The number of items that a search found. None if the tool does not search."""
    sources: Sequence[tool_pb2.Source] = ()
    warnings: Sequence[str] = ()
    """Parts of the work that failed, one sentence each."""
    elapsed: Duration = field(default_factory=Duration)
    error: status_pb2.Status | None = None
    binding_id: str = ""
    extra: bool = False
    """Whether the client bound it: it has the rights of the caller, not of the owner."""
    call: FunctionCall | None = None
    """The model's call. None if the tool runs before the model."""
    function: str = ""
    """The name of the called function in the tools service."""
    ask: bool = False
    """Whether the user must confirm the call."""
    started: float | None = None
    """The start of the tool, by `time.perf_counter`. None if it did not run."""
    result: tool_pb2.ToolResult | None = None
    """The whole result of a called function."""

    @property
    def tool(self) -> str:
        """The tool's name."""
        return self.binding.tool

    def finish(self, result: tool_pb2.ToolResult) -> None:
        """Store the result."""
        self.slot = self.binding.slot or result.slot or self.tool
        self.text = "".join(part.text for part in result.parts)
        self.sources = result.sources
        self.warnings = result.warnings
        self.elapsed = result.elapsed
        if result.HasField("result_count"):
            self.result_count = result.result_count
        if self.call is not None:
            self.result = result

    def fail(self, error: status_pb2.Status, slot: str, seconds: float) -> None:
        """Store the failure. `slot` is empty if it is not known."""
        self.slot = self.binding.slot or slot
        self.elapsed = to_duration(seconds)
        self.error = status_pb2.Status()
        self.error.CopyFrom(error)  # the message may be part of another one

    @property
    def has_no_slot(self) -> bool:
        """Whether the tool fills a slot that the template does not have."""
        if self.template_slots is None or not self.slot:
            return False
        return self.slot not in self.template_slots

    @property
    def failure(self) -> HeddleError | None:
        """The tool's failure, or None."""
        return None if self.error is None else from_status(self.error)


def bound_for(
    mode: pb.Mode.ValueType,
    assistant: pb.Assistant,
    tool_timeout: float,
    context: Context,
    template_slots: frozenset[str] | None = None,
) -> list[BoundTool]:
    """Return the tools that are bound in a mode, in the order of the assistant.

    Args:
        mode: The mode of the tools.
        assistant: The owner of the tools.
        tool_timeout: Seconds for a tool whose binding sets no timeout.
        context: Of the run. A tool gets at most half of the time that is left.
        template_slots: The slots of the template, for tools that fill slots.

    Raises:
        InvalidRequestError: Two bindings have one id, or there are too many.
    """
    if not assistant.tools:
        return []
    if len(assistant.tools) > MAX_TOOLS:
        violation = Violation("assistant.tools", f"at most {MAX_TOOLS} tools can be bound")
        raise InvalidRequestError("The assistant has too many tools.", [violation])
    max_seconds = remaining(context) / 2
    bound: list[BoundTool] = []
    for binding, name in zip(assistant.tools, _ids(assistant.tools), strict=True):
        if binding.disabled or (binding.mode or pb.MODE_AUGMENT) != mode or is_unnamed(binding):
            continue
        limit = tool_timeout
        if binding.HasField("timeout"):
            limit = binding.timeout.seconds + binding.timeout.nanos / 1e9
        seconds = min(limit, max_seconds)
        bound.append(
            BoundTool(
                name,
                binding,
                seconds,
                slot=binding.slot,
                template_slots=template_slots,
                binding_id=name,
            )
        )
    return bound


def is_unnamed(binding: pb.ToolBinding) -> bool:
    """Return whether a binding names no tool. Runs skip it."""
    return not binding.tool.strip()


def all_searches_empty(bound: Sequence[BoundTool]) -> bool:
    """Return whether tools searched without a result, and no other tool returned a text.

    A search that failed, or that failed in part, could have found something.
    """
    complete = all(each.error is None and not each.warnings for each in bound)
    searches = [each for each in bound if each.result_count is not None]
    others = [each for each in bound if each.result_count is None]
    return (
        complete
        and bool(searches)
        and not any(each.result_count for each in searches)
        and not any(each.text for each in others)
    )


def invocation(bound: BoundTool) -> tool_pb2.ToolInvocation:
    """Return a tool with its configuration, as the tools service describes and assesses it."""
    binding = bound.binding
    return tool_pb2.ToolInvocation(
        id=bound.id, name=bound.tool, config=binding.config, on_change=binding.on_change
    )


def to_duration(seconds: float) -> Duration:
    """Return seconds as a message."""
    duration = Duration()
    duration.FromNanoseconds(int(seconds * 1e9))
    return duration


def stop_on_failure(bound: Sequence[BoundTool]) -> None:
    """Raise the failure of the first tool whose policy is `fail`."""
    for each in bound:
        failure = each.failure
        if failure and each.binding.on_failure == pb.FAILURE_POLICY_FAIL:
            raise failure


def _ids(bindings: Sequence[pb.ToolBinding]) -> list[str]:
    """Return the bindings' ids. Bindings without an id get the tool's name with a number."""
    taken = {binding.id for binding in bindings if binding.id}
    counts: Counter[str] = Counter()
    ids: list[str] = []
    for binding in bindings:
        name = binding.id
        while not name:
            counts[binding.tool] += 1
            number = counts[binding.tool]
            candidate = binding.tool if number == 1 else f"{binding.tool}_{number}"
            name = "" if candidate in taken or candidate in ids else candidate
        if name in ids:
            violation = Violation("assistant.tools", f"two bindings have the id {name!r}")
            raise InvalidRequestError("Two tools of the assistant have one id.", [violation])
        ids.append(name)
    return ids
