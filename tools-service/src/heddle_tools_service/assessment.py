"""Determines whether the routing agent may run a tool in the current state, and whether it must."""

import json
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb

from heddle_tools_service.agent_run_state import examples_of
from heddle_tools_service.function_calls import declaration
from heddle_tools_service.registry import Installed
from heddle_tools_service.result_mapping import phrase
from heddle_tools_service.sdk import ToolCall, ToolError

_DISABLED = "It is switched off here."
_NOT_AVAILABLE = "It is of no use now."


async def assess(
    identifier: str, installed: Installed, call: ToolCall[Any], *, enabled: bool
) -> pb.Assessment:
    """Return the description, availability and trigger of a tool.

    Args:
        identifier: The id of the invocation.
        installed: A tool of the mode `agent`.
        call: The call that its callbacks receive.
        enabled: Whether the tool is enabled for the assistant.
    """
    tool = installed.tool
    assessment = pb.Assessment(
        id=identifier,
        function=declaration(tool.function) if tool.function else None,
        examples=examples_of(tool),
        end=tool.end,
    )
    assessment.reason = await _obstacle(installed, call) if enabled else _DISABLED
    assessment.available = not assessment.reason
    if assessment.available and installed.trigger is not None:
        trigger = await installed.trigger(call)
        if trigger is not None:
            inputs = json.dumps(dict(trigger.inputs), ensure_ascii=False) if trigger.inputs else ""
            assessment.trigger.CopyFrom(pb.Trigger(inputs_json=inputs, cause=phrase(trigger.cause)))
    return assessment


async def _obstacle(installed: Installed, call: ToolCall[Any]) -> str:
    """Return why a tool is not available; empty if it is."""
    if installed.available is None:
        return ""
    try:
        return "" if await installed.available(call) else _NOT_AVAILABLE
    except ToolError as error:
        return phrase(str(error)) or _NOT_AVAILABLE
