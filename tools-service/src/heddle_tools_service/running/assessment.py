"""Determines whether the routing agent may run a tool in the current state, and whether it must."""

import json
from typing import Any

from heddle.tool.v1 import tool_pb2 as pb

from heddle_tools_service.contract.descriptions import EFFECTS, declaration, examples_of
from heddle_tools_service.contract.results import phrase
from heddle_tools_service.installed.tool import Installed
from heddle_tools_service.sdk import Function, Tool, ToolCall, ToolError, ToolUnavailableError

_DISABLED = "It is switched off here."
_NOT_AVAILABLE = "It is of no use now."
_NO_FUNCTIONS = "It offers no function: its author has accepted none."


async def assess(
    identifier: str, installed: Installed, call: ToolCall[Any], *, enabled: bool
) -> list[pb.Assessment]:
    """Return the description, availability and trigger of a tool, or of each function it offers.

    Args:
        identifier: The id of the invocation.
        installed: A tool of the mode `agent`.
        call: The call that its callbacks receive.
        enabled: Whether the tool is enabled for the assistant.

    Raises:
        ToolUnavailableError: What the tool needs does not answer, or is not there.
    """
    reason = await _obstacle(installed, call) if enabled else _DISABLED
    if installed.offer is None:
        assessment = _assessment(identifier, installed.tool, installed.tool.function, reason)
        await _set_trigger(assessment, installed, call)
        return [assessment]
    functions = [] if reason else (await installed.offer(call)).functions
    if not functions:
        return [_assessment(identifier, installed.tool, None, reason or _NO_FUNCTIONS)]
    return [_assessment(identifier, installed.tool, each, "") for each in functions]


def _assessment(
    identifier: str, tool: Tool, function: Function | None, reason: str
) -> pb.Assessment:
    return pb.Assessment(
        id=identifier,
        available=not reason,
        reason=reason,
        function=declaration(function) if function else None,
        examples=examples_of(tool),
        end=tool.end,
        effect=(
            EFFECTS[function.effect] if function and function.effect else pb.TOOL_EFFECT_UNSPECIFIED
        ),
    )


async def _set_trigger(
    assessment: pb.Assessment, installed: Installed, call: ToolCall[Any]
) -> None:
    if assessment.available and installed.trigger is not None:
        trigger = await installed.trigger(call)
        if trigger is not None:
            inputs = json.dumps(dict(trigger.inputs), ensure_ascii=False) if trigger.inputs else ""
            assessment.trigger.CopyFrom(pb.Trigger(inputs_json=inputs, cause=phrase(trigger.cause)))


async def _obstacle(installed: Installed, call: ToolCall[Any]) -> str:
    if installed.available is None:
        return ""
    try:
        return "" if await installed.available(call) else _NOT_AVAILABLE
    except ToolUnavailableError:
        raise
    except ToolError as error:
        return phrase(str(error)) or _NOT_AVAILABLE
