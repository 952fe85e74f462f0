"""Texts of a run of a tool, in its span."""

import json
from collections.abc import Mapping
from typing import Any

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.tool.v1 import tool_pb2 as pb
from heddle_runtime.organization_settings import OrganizationSettings
from heddle_runtime.telemetry import content

from heddle_tools_service.execution import Work


async def traced_texts(
    running: Work,
    settings: OrganizationSettings | None,
    assistant: Assistant,
    invocation: pb.ToolInvocation,
) -> pb.ToolResult:
    """Return the result of a tool. Its span gets the arguments and the text of the result.

    Args:
        running: Runs the tool.
        settings: Of organisations, which can forbid it.
        assistant: That the tool runs for.
        invocation: Of the tool.
    """
    try:
        allowed = await content.is_allowed(settings, assistant.organization, assistant.owner)
    except BaseException:
        running.close()
        raise
    if not allowed:
        return await running
    content.add({"gen_ai.tool.call.arguments": _arguments(invocation)})
    result = await running
    content.add({"gen_ai.tool.call.result": "\n".join(part.text for part in result.parts)})
    return result


def _arguments(invocation: pb.ToolInvocation) -> Mapping[str, Any] | str:
    """Return the arguments as a JSON value, so that members named like secrets are replaced."""
    text = invocation.function_call.arguments_json
    try:
        arguments = json.loads(text) if text else {}
    except (ValueError, RecursionError):
        return text
    return arguments if isinstance(arguments, dict) else text
