"""The functions of an assistant that its model may call."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import grpc
from google.rpc import status_pb2
from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import caller, new_call_options, remaining
from heddle_runtime.errors import DeadlineError, from_rpc, to_status
from heddle_runtime.server_interceptor import Context
from heddle_runtime.ttl_cache import TTLCache

from heddle_orchestrator.bindings import Bound

if TYPE_CHECKING:
    from heddle.tool.v1.tool_pb2_grpc import ToolServiceAsyncStub

_REMEMBERED = 10.0  # seconds
_CAP = 10.0  # seconds
_MOST_TOLD = 10  # of what a binding holds back
_Key = tuple[bytes, str, str]
_LONGEST_NAME = 64  # of what OpenAI takes


@dataclass(frozen=True, slots=True)
class Offer:
    """One function that the model may call."""

    bound: Bound
    """The binding that it belongs to."""
    function: str
    """What the tool service calls it."""
    declaration: chat_pb2.FunctionDeclaration
    """What the model is told, its name unique in the request."""


@dataclass(frozen=True, slots=True)
class Offers:
    """All of them."""

    by_name: Mapping[str, Offer]
    failed: Sequence[Bound]
    """Bindings that offer nothing, with their errors."""
    held_back: Sequence[Bound] = ()
    """Bindings that offer less than they name, each with warnings that say why."""

    @property
    def declarations(self) -> list[chat_pb2.FunctionDeclaration]:
        """What the model is told."""
        return [offer.declaration for offer in self.by_name.values()]


class Catalog:
    """Asks the tool service what it offers, and remembers it for a moment."""

    def __init__(self, tools: "ToolServiceAsyncStub") -> None:
        self._tools = tools
        self._known: TTLCache[_Key, tool_pb2.ListFunctionsResponse] = TTLCache(_REMEMBERED)

    async def offers(
        self,
        assistant: assistant_pb2.Assistant,
        bound: Sequence[Bound],
        taken: Collection[str],
        context: Context,
    ) -> Offers:
        """Return what the model may call.

        Args:
            assistant: Whose functions.
            bound: Its bindings of mode `function`. One that offers nothing is left with an error:
                the run goes on without it.
            taken: Names of the client's functions, which stay as they are.
            context: Of the call.
        """
        request = tool_pb2.ListFunctionsRequest(
            invocations=[
                tool_pb2.ToolInvocation(id=b.id, name=b.tool, config=b.binding.config)
                for b in bound
            ],
            assistant=assistant,
        )
        try:
            response = await self._listed(request, context)
        except (grpc.aio.AioRpcError, DeadlineError) as failure:
            known = failure if isinstance(failure, DeadlineError) else from_rpc(failure)
            _fail(bound, to_status(known))
            return Offers({}, bound)
        found = {each.id: each for each in response.functions}
        for b in bound:
            if b.id in found and found[b.id].HasField("error"):
                _fail([b], found[b.id].error)
        offered = [(b, found[b.id].functions) for b in bound if b.id in found and not b.error]
        held_back = [
            replace(b, warnings=[each.reason for each in found[b.id].held_back[:_MOST_TOLD]])
            for b, _ in offered
            if found[b.id].held_back
        ]
        return Offers(_named(offered, taken), [b for b in bound if b.error], held_back)

    async def _listed(
        self, request: tool_pb2.ListFunctionsRequest, context: Context
    ) -> tool_pb2.ListFunctionsResponse:
        async def ask() -> tool_pb2.ListFunctionsResponse:
            return await self._tools.ListFunctions(request, **new_call_options(_CAP))

        who = caller().identity  # a tool may offer its function to some only
        key = (request.SerializeToString(deterministic=True), who.subject, who.organization)
        return await self._known.get(key, ask, remaining(context, _CAP))


def _named(
    offered: Iterable[tuple[Bound, Iterable[chat_pb2.FunctionDeclaration]]], taken: Collection[str]
) -> dict[str, Offer]:
    """Give each function a name of its own: of two that share one, both take their binding's.

    A binding that offers several keeps the function's name behind its own.
    """
    pairs = [(b, function) for b, functions in offered for function in functions]
    names = [*taken, *(function.name for _, function in pairs)]
    sizes = Counter(b.id for b, _ in pairs)
    by_name: dict[str, Offer] = {}
    for b, function in pairs:
        name = function.name
        if names.count(name) > 1:
            own = f"{b.id}__{name}" if sizes[b.id] > 1 else b.id
            name = _free(own if own != name else f"{own}_", {*taken, *by_name, *names})
        declaration = chat_pb2.FunctionDeclaration()
        declaration.CopyFrom(function)
        declaration.name = name
        by_name[name] = Offer(b, function.name, declaration)
    return by_name


def _free(wanted: str, taken: Collection[str]) -> str:
    letters = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in wanted)
    name, number = letters[:_LONGEST_NAME], 1
    while name in taken:
        number += 1
        ending = f"_{number}"
        name = letters[: _LONGEST_NAME - len(ending)] + ending
    return name


def _fail(bound: Iterable[Bound], error: status_pb2.Status) -> None:
    for b in bound:
        b.fail(error, "")
