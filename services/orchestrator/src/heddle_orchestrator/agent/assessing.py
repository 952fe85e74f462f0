"""QueryWorkers the tool service which tools can be chosen now."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from heddle.tool.v1 import tool_pb2
from heddle_runtime.call_metadata import call_options
from heddle_runtime.errors import from_rpc, from_status

from heddle_orchestrator.agent.decision import SUMMARIZE, TEXT_RESPONSE, Candidate
from heddle_orchestrator.agent.environment import Failed, members
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.bindings import Bound
from heddle_orchestrator.execution import ToolRun

_CAP = 10.0  # seconds
SUMMARY_ABOVE = 30_000
"""Tokens in the environment."""
_SUMMARY_WORDS = 500
_END = Candidate(
    TEXT_RESPONSE,
    "Answers the person with what was found. Ends the run.",
    {
        "type": "object",
        "properties": {
            "include_sources": {
                "type": "boolean",
                "default": True,
                "description": "Whether the sources are told beside the answer.",
            }
        },
        "additionalProperties": False,
    },
    end=True,
)
_SUMMARIZE = Candidate(
    SUMMARIZE,
    "Shortens everything that was found to a summary.",
    {
        "type": "object",
        "properties": {
            "max_length": {
                "type": "integer",
                "minimum": 1,
                "maximum": 5_000,
                "default": 200,
                "description": "The length of the summary, in words.",
            }
        },
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Offered:
    """What can be chosen, and what cannot."""

    tools: Sequence[Candidate]
    hindrances: Mapping[str, str]
    """Why a tool cannot be chosen now, by its binding."""
    failed: Mapping[str, tuple[str, Failed]]
    """The tool and what is wrong with it, by binding, for those that cannot be asked."""


async def offered(
    run: ToolRun, bound: Sequence[Bound], state: State, *, compare: bool = False
) -> Offered:
    """Return what can be chosen in a state: of the bound tools, and of what every run has.

    Args:
        run: Asks the tool service.
        bound: The bindings of the assistant.
        state: Of the run.
        compare: Whether the tools shall be compared with the request.
    """
    own = [_END] if responds(state) else []
    if not state.environment.is_empty():
        own.append(_summary(state))
    if not bound:
        return Offered(own, {}, {})
    request = tool_pb2.AssessToolsRequest(
        invocations=[
            tool_pb2.ToolInvocation(id=b.id, name=b.tool, config=b.binding.config) for b in bound
        ],
        context=run.request,
        compare=compare,
    )
    request.context.tree.CopyFrom(state.told())
    try:
        response = await run.tools.AssessTools(request, **call_options(run.context, _CAP))
    except grpc.aio.AioRpcError as error:
        down = Failed(from_rpc(error).message, recoverable=True, suggestion="")
        return Offered(own, {}, {b.id: (b.tool, down) for b in bound})
    told = {each.id: each for each in response.assessments}
    pairs = [(b, told[b.id]) for b in bound if b.id in told]
    names = _names(pairs)
    return Offered(
        [*(_candidate(b, each, names[b.id]) for b, each in pairs if each.available), *own],
        {b.id: each.reason for b, each in pairs if each.reason},
        {
            b.id: (b.tool, Failed(from_status(each.error).message, False, ""))  # noqa: FBT003 - by place, like its fields
            for b, each in pairs
            if each.HasField("error")
        },
    )


def responds(state: State) -> bool:
    """Whether a model may choose to answer: something was found, or at least tried."""
    return not state.environment.is_empty() or state.iterations > 0


def _names(pairs: Sequence[tuple[Bound, tool_pb2.Assessment]]) -> Mapping[str, str]:
    """Return a name for each binding: its function's if no other has that, else its own."""
    counts = Counter(each.function.name for _, each in pairs)
    taken = {TEXT_RESPONSE: "", SUMMARIZE: ""}
    for bound, each in pairs:
        function = each.function.name
        wanted = function if counts[function] == 1 else bound.id
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}_{number}"
        taken[name] = bound.id
    return {identifier: name for name, identifier in taken.items()}


def _candidate(bound: Bound, told: tool_pb2.Assessment, name: str) -> Candidate:
    trigger = None
    if told.HasField("trigger"):
        trigger = (told.trigger.cause, members(told.trigger.inputs_json or "{}"))
    return Candidate(
        name,
        told.function.description,
        _schema(told.function.parameters_schema_json),
        [(each.request, each.arguments_json) for each in told.examples],
        bound,
        told.function.name,
        told.end,
        trigger,
        told.affinity if told.HasField("affinity") else None,
    )


def _schema(text: str) -> Mapping[str, Any]:
    read = json.loads(text or "{}")
    return read if isinstance(read, dict) else {}


def _summary(state: State) -> Candidate:
    """Return `summarize`, which must run where the environment has become too large."""
    if state.environment.estimate_tokens() <= SUMMARY_ABOVE:
        return _SUMMARIZE
    cause = f"too much was found, after {state.summaries} summaries"
    return Candidate(
        SUMMARIZE,
        _SUMMARIZE.description,
        _SUMMARIZE.schema,
        trigger=(cause, {"max_length": _SUMMARY_WORDS}),
    )
