"""The functions that an assistant declares to its model."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import grpc
from google.rpc import status_pb2
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2
from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub
from heddle_runtime.errors import DeadlineError, from_rpc, to_status
from heddle_runtime.identity.call_metadata import (
    Context,
    Stopwatch,
    caller,
    calling_as,
    new_call_options,
    remaining,
)
from heddle_runtime.rpc.ttl_cache import TTLCache

from heddle_orchestrator.tools.bindings import BoundTool, invocation

_CACHE_SECONDS = 10.0
_TIMEOUT_SECONDS = 10.0
_MAX_WARNINGS = 10
"""The maximum number of warnings of one binding."""
_MAX_NAME_CHARS = 64
"""The limit of OpenAI's API."""
_Key = tuple[bytes, str, str]


@dataclass(frozen=True, slots=True)
class DeclaredTool:
    """A function that the model may call."""

    bound: BoundTool
    """The function's binding."""
    function: str
    """The name of the function in the tools service."""
    declaration: chat_pb2.FunctionDeclaration
    """The declaration for the model. Its name is unique in the request."""
    ask: bool = False
    """Whether the user must confirm each call."""


@dataclass(frozen=True, slots=True)
class ToolDeclarations:
    """The functions that the model may call, and the bindings that declare fewer or none."""

    by_name: Mapping[str, DeclaredTool]
    failed: Sequence[BoundTool]
    """Bindings without functions, with their errors."""
    held_back: Sequence[BoundTool] = ()
    """Bindings that declare fewer functions than configured, with warnings that say why."""

    def __add__(self, other: "ToolDeclarations") -> "ToolDeclarations":
        """Return both."""
        return ToolDeclarations(
            {**self.by_name, **other.by_name},
            [*self.failed, *other.failed],
            [*self.held_back, *other.held_back],
        )

    @property
    def declarations(self) -> list[chat_pb2.FunctionDeclaration]:
        """The declarations for the model."""
        return [each.declaration for each in self.by_name.values()]


class ToolCatalog:
    """Lists the functions of bindings, and caches them for a short time."""

    def __init__(self, tools: ToolServiceAsyncStub) -> None:
        self._tools = tools
        self._cache: TTLCache[_Key, tool_pb2.ListFunctionsResponse] = TTLCache(_CACHE_SECONDS)

    async def declarations(
        self,
        assistant: assistant_pb2.Assistant,
        bound: Sequence[BoundTool],
        taken: Collection[str],
        context: Context,
    ) -> ToolDeclarations:
        """Return the functions that the model may call.

        Args:
            assistant: The owner of the functions.
            bound: Its bindings of mode `function`. A binding whose functions cannot be listed gets
                an error, and the run continues without it.
            taken: Names of the client's functions, which do not change.
            context: The context of the call.
        """
        request = tool_pb2.ListFunctionsRequest(
            invocations=[invocation(b) for b in bound],
            assistant=assistant,
        )
        watch = Stopwatch()
        try:
            response = await self._list(request, context)
        except (grpc.aio.AioRpcError, DeadlineError) as failure:
            error = failure if isinstance(failure, DeadlineError) else from_rpc(failure)
            _fail(bound, to_status(error), watch.seconds())
            return ToolDeclarations({}, bound)
        by_id = {each.id: each for each in response.functions}
        for b in bound:
            if b.id in by_id and by_id[b.id].HasField("error"):
                _fail([b], by_id[b.id].error, watch.seconds())
        listed = [(b, by_id[b.id]) for b in bound if b.id in by_id and not b.error]
        held_back = [
            replace(b, warnings=[each.reason for each in by_id[b.id].held_back[:_MAX_WARNINGS]])
            for b, _ in listed
            if by_id[b.id].held_back
        ]
        return ToolDeclarations(
            _with_unique_names(listed, taken), [b for b in bound if b.error], held_back
        )

    async def _list(
        self, request: tool_pb2.ListFunctionsRequest, context: Context
    ) -> tool_pb2.ListFunctionsResponse:
        current = caller()

        async def call() -> tool_pb2.ListFunctionsResponse:
            with calling_as(current):
                options = new_call_options(_TIMEOUT_SECONDS)
                return await self._tools.ListFunctions(request, **options)

        identity = current.identity  # the functions of a tool can depend on the caller
        key = (
            request.SerializeToString(deterministic=True),
            identity.subject,
            identity.organization,
        )
        return await self._cache.get(key, call, remaining(context, _TIMEOUT_SECONDS))


def _with_unique_names(
    listed: Iterable[tuple[BoundTool, tool_pb2.ToolFunctions]],
    taken: Collection[str],
) -> dict[str, DeclaredTool]:
    """Return functions by unique names. Functions with equal names get the names of their bindings.

    If a binding has several functions, the function's name follows the binding's.
    """
    pairs = [
        (b, function, policy != assistant_pb2.CHANGE_POLICY_RUN)
        for b, offered in listed
        for function, policy in zip(offered.functions, offered.policies, strict=True)
        if policy != assistant_pb2.CHANGE_POLICY_NEVER
    ]
    names = [*taken, *(function.name for _, function, _ in pairs)]
    sizes = Counter(b.id for b, _, _ in pairs)
    by_name: dict[str, DeclaredTool] = {}
    for b, function, ask in pairs:
        name = function.name
        if names.count(name) > 1:
            own = f"{b.id}__{name}" if sizes[b.id] > 1 else b.id
            name = _free_name(own if own != name else f"{own}_", {*taken, *by_name, *names})
        declaration = chat_pb2.FunctionDeclaration()
        declaration.CopyFrom(function)
        declaration.name = name
        by_name[name] = DeclaredTool(b, function.name, declaration, ask)
    return by_name


def _free_name(preferred: str, taken: Collection[str]) -> str:
    letters = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in preferred)
    name, number = letters[:_MAX_NAME_CHARS], 1
    while name in taken:
        number += 1
        ending = f"_{number}"
        name = letters[: _MAX_NAME_CHARS - len(ending)] + ending
    return name


def _fail(bound: Iterable[BoundTool], error: status_pb2.Status, seconds: float) -> None:
    for b in bound:
        b.fail(error, "", seconds)
