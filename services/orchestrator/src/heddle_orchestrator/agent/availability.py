"""Asks the tools service which tools are available now."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import grpc
from heddle.assistant.v1 import assistant_pb2
from heddle.tool.v1 import tool_pb2
from heddle_runtime.contract.json_text import members
from heddle_runtime.errors import HeddleError, from_rpc, from_status

from heddle_orchestrator.agent.decision import SUMMARIZE, TEXT_RESPONSE, Candidate
from heddle_orchestrator.agent.state import State
from heddle_orchestrator.tools.bindings import BoundTool, invocation
from heddle_orchestrator.tools.execution import ToolRun

_TIMEOUT_SECONDS = 10.0
SUMMARY_THRESHOLD_TOKENS = 30_000
"""The size of the environment above which `summarize` must run."""
DEFAULT_SUMMARY_WORDS = 200
_TRIGGERED_SUMMARY_WORDS = 500
_TEXT_RESPONSE = Candidate(
    TEXT_RESPONSE,
    "Answers the user with the results. Ends the run.",
    {
        "type": "object",
        "properties": {
            "include_sources": {
                "type": "boolean",
                "default": True,
                "description": "Whether the answer lists its sources.",
            }
        },
        "additionalProperties": False,
    },
    end=True,
)
_SUMMARIZE = Candidate(
    SUMMARIZE,
    "Replaces all results with a summary.",
    {
        "type": "object",
        "properties": {
            "max_length": {
                "type": "integer",
                "minimum": 1,
                "maximum": 5_000,
                "default": DEFAULT_SUMMARY_WORDS,
                "description": "The length of the summary, in words.",
            }
        },
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class Availability:
    """The tools that are available, and those that are not."""

    tools: Sequence[Candidate]
    failed: Mapping[str, HeddleError]
    """The errors of tools that could not be checked or whose services do not answer, by binding."""


async def available_tools(
    run: ToolRun, bound: Sequence[BoundTool], state: State, *, compare: bool = False
) -> Availability:
    """Return the tools that are available in a state: bound tools and the built-in ones.

    Args:
        run: Calls the tools service.
        bound: The bindings of the assistant.
        state: The state of the run.
        compare: Whether the tools service shall compute the affinity of each tool.
    """
    built_in = [_TEXT_RESPONSE] if may_respond(state) else []
    if not state.environment.is_empty():
        built_in.append(_summarize(state))
    if not bound:
        return Availability(built_in, {})
    request = tool_pb2.AssessToolsRequest(
        invocations=[invocation(b) for b in bound],
        context=run.request,
        compare=compare,
    )
    request.context.tree.CopyFrom(state.to_proto())
    try:
        response = await run.tools.AssessTools(request, **run.call_options(_TIMEOUT_SECONDS))
    except grpc.aio.AioRpcError as error:
        failure = from_rpc(error)
        return Availability(built_in, {b.id: failure for b in bound})
    by_id = {b.id: b for b in bound}
    pairs = [(by_id[each.id], each) for each in response.assessments if each.id in by_id]
    return Availability(
        [*_candidates(pairs), *built_in],
        {b.id: from_status(each.error) for b, each in pairs if each.HasField("error")},
    )


def may_respond(state: State) -> bool:
    """Return whether a model may choose to answer: a tool ran, or there are results."""
    return not state.environment.is_empty() or state.iterations > 0


def _candidates(pairs: Sequence[tuple[BoundTool, tool_pb2.Assessment]]) -> list[Candidate]:
    """Return the available tools by unique names.

    The name is the function's if that is unique, else the id of the binding, followed by the
    function's name if the binding has several functions.
    """
    uses = Counter(each.function.name for _, each in pairs)
    functions = Counter(bound.id for bound, _ in pairs)
    taken = {TEXT_RESPONSE, SUMMARIZE}
    candidates = []
    for bound, each in pairs:
        function, several = each.function.name, functions[bound.id] > 1
        preferred = function
        if uses[function] > 1:
            preferred = f"{bound.id}__{function}" if several else bound.id
        name, number = preferred, 1
        while name in taken:
            number += 1
            name = f"{preferred}_{number}"
        taken.add(name)
        if each.available and each.policy != assistant_pb2.CHANGE_POLICY_NEVER:
            candidates.append(_candidate(bound, each, name, shares_binding=several))
    return candidates


def _candidate(
    bound: BoundTool, assessment: tool_pb2.Assessment, name: str, *, shares_binding: bool
) -> Candidate:
    trigger = None
    if assessment.HasField("trigger"):
        trigger = (assessment.trigger.cause, members(assessment.trigger.inputs_json or "{}"))
    return Candidate(
        name,
        assessment.function.description,
        _schema(assessment.function.parameters_schema_json),
        [(each.request, each.arguments_json) for each in assessment.examples],
        bound,
        assessment.function.name,
        assessment.end,
        trigger,
        assessment.affinity if assessment.HasField("affinity") else None,
        shares_binding,
        assessment.policy != assistant_pb2.CHANGE_POLICY_RUN,
    )


def _schema(text: str) -> Mapping[str, Any]:
    schema = json.loads(text or "{}")
    return schema if isinstance(schema, dict) else {}


def _summarize(state: State) -> Candidate:
    """Return `summarize`, with a trigger if the environment is too large."""
    if state.environment.estimate_tokens() <= SUMMARY_THRESHOLD_TOKENS:
        return _SUMMARIZE
    cause = f"the results are too long, after {state.summaries} summaries"
    return Candidate(
        SUMMARIZE,
        _SUMMARIZE.description,
        _SUMMARIZE.schema,
        trigger=(cause, {"max_length": _TRIGGERED_SUMMARY_WORDS}),
    )
