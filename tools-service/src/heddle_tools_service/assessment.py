"""Whether the routing agent may run a tool in the state of its run, and whether it must."""

import json
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb

from heddle_tools_service.function_calls import declaration
from heddle_tools_service.outcomes import phrase
from heddle_tools_service.sdk import Tool, ToolCall, ToolError
from heddle_tools_service.trees import examples_of

_OFF = "It is switched off here."
_NOT_NOW = "It is of no use now."


async def assessed(
    identifier: str, tool: Tool, call: ToolCall[Any], *, enabled: bool
) -> pb.Assessment:
    """Return what the agent is told of a tool.

    Args:
        identifier: Of the invocation.
        tool: A tool of the mode `agent`.
        call: What its hooks see.
        enabled: Whether it is switched on at all.
    """
    told = pb.Assessment(
        id=identifier,
        function=declaration(tool.function) if tool.function else None,
        examples=examples_of(tool),
        end=tool.end,
    )
    told.reason = await _hindrance(tool, call) if enabled else _OFF
    told.available = not told.reason
    if told.available and tool.trigger is not None:
        trigger = await tool.trigger(call)
        if trigger is not None:
            inputs = json.dumps(dict(trigger.inputs), ensure_ascii=False) if trigger.inputs else ""
            told.trigger.CopyFrom(pb.Trigger(inputs_json=inputs, cause=phrase(trigger.cause)))
    return told


async def _hindrance(tool: Tool, call: ToolCall[Any]) -> str:
    if tool.available is None:
        return ""
    try:
        return "" if await tool.available(call) else _NOT_NOW
    except ToolError as error:
        return phrase(str(error)) or _NOT_NOW
