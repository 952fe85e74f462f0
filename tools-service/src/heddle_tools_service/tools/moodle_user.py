"""Names the person who asks, for prompts: by Moodle's number, or what else is known."""

import asyncio
from collections.abc import Iterator
from typing import Any

from heddle_tools_service.capabilities.moodle import Moodle
from heddle_tools_service.sdk import NoOptions, ToolCall, ToolError, ToolResult, tool

NOBODY = "default"
_METADATA = ("user_id", "lti_user_id", "lis_person_sourcedid", "email")
_MAX_CHARS = 200
_PATIENCE = 5.0


@tool("moodle_user", title="Moodle user", slot="moodle_user", category="lms")
async def moodle_user(call: ToolCall[NoOptions], moodle: Moodle) -> ToolResult:
    """Puts the Moodle identifier of the person who asks into the prompt."""
    email = call.caller.subject
    if "@" in email and not call.caller.client_user:
        return ToolResult(await _number(call, moodle) or email)
    return ToolResult(next(_claimed(call), NOBODY))


async def _number(call: ToolCall[NoOptions], moodle: Moodle) -> str:
    """Return Moodle's number of the person; empty if Moodle does not tell it soon."""
    call.status("looking you up in Moodle")
    try:
        async with asyncio.timeout(min(_PATIENCE, call.seconds / 2)):
            return str(await moodle.user())
    except (ToolError, TimeoutError):
        return ""


def _claimed(call: ToolCall[NoOptions]) -> Iterator[str]:
    """Yield what else names the person, the most trusted first.

    What stands in the request is the client's word. It is good enough for the text of a prompt,
    and for nothing else: no tool looks anybody up by it.
    """
    metadata: Any = call.request.get("metadata")
    claims = [metadata.get(name) for name in _METADATA] if isinstance(metadata, dict) else []
    yield from filter(None, map(_text, (call.caller.client_user, *claims)))


def _text(value: object) -> str:
    """Return a name of a client's as one line; empty if it is none."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        return ""
    return " ".join(str(value).split())[:_MAX_CHARS]
