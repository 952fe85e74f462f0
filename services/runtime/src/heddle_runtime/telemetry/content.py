"""Texts of users and models in spans, if the operator wants them and no organisation forbids it."""

import json
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from heddle_runtime.telemetry import spans

MAX_BYTES = 16 * 1024
"""The size of one attribute."""
_on = False
ResultT = TypeVar("ResultT")


def switch(*, on: bool) -> None:
    """Set whether the operator wants texts in spans."""
    global _on  # noqa: PLW0603 - one exporter per process
    _on = on


def is_on() -> bool:
    """Return whether the operator wants the texts of the current request in its spans."""
    return _on and spans.is_drawn()


def add(texts: Mapping[str, object]) -> None:
    """Add texts to the current span, without secrets and e-mail addresses; other values as JSON."""
    from opentelemetry import trace  # noqa: PLC0415 - only for drawn requests

    current = trace.get_current_span()
    for name, value in texts.items():
        if value:
            text = plain_text(value) if isinstance(value, str) else json_text(value)
            current.set_attribute(name, text)


async def tool_texts(
    running: Coroutine[Any, Any, ResultT],
    allowed: Coroutine[Any, Any, bool],
    arguments_json: str,
    text_of: Callable[[ResultT], str],
) -> ResultT:
    """Return the result of a tool, whose span gets the arguments and the text of the result.

    Args:
        running: Runs the tool.
        allowed: Returns whether the span may have texts.
        arguments_json: The text of one JSON object, or what a model wrote in its place.
        text_of: Returns the text of a result.
    """
    try:
        may_show = await allowed
    except BaseException:
        running.close()
        raise
    if not may_show:
        return await running
    try:  # so that members that are named like secrets are replaced
        arguments: object = json.loads(arguments_json or "{}")
    except (ValueError, RecursionError):
        arguments = arguments_json
    add({"gen_ai.tool.call.arguments": arguments})
    result = await running
    add({"gen_ai.tool.call.result": text_of(result)})
    return result


def plain_text(text: str) -> str:
    """Return a text of at most `MAX_BYTES`."""
    from heddle_runtime.redaction import redact_personal  # noqa: PLC0415 - only for drawn requests

    redacted = redact_personal(text[: 2 * MAX_BYTES]).encode()
    return redacted[:MAX_BYTES].decode(errors="ignore")


def json_text(value: object) -> str:
    """Return the JSON text of a value, of at most `MAX_BYTES`.

    Long texts in it are cut. If that does not suffice, the first items of a list are left out: the
    last ones of a conversation say more.
    """
    import msgspec  # noqa: PLC0415 - only for drawn requests

    from heddle_runtime.redaction import redact_value  # noqa: PLC0415 - as above

    longest = MAX_BYTES
    # Cut before the search for secrets, which takes its time, but not where one may be shown.
    redacted = redact_value(_cut(value, 2 * longest), personal=True)
    while True:
        encoded = msgspec.json.encode(_cut(redacted, longest))
        if len(encoded) <= MAX_BYTES:
            return encoded.decode()
        if longest > _SHORT:
            longest //= 2
        elif isinstance(redacted, list) and len(redacted) > 1:
            redacted = redacted[(len(redacted) + 1) // 2 :]
        else:
            return '"[too long]"'


_SHORT = 256


def _cut(value: Any, longest: int) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case str():
            return value if len(value) <= longest else f"{value[:longest]}…"
        case Mapping():
            return {str(name): _cut(each, longest) for name, each in value.items()}
        case list() | tuple():
            return [_cut(each, longest) for each in value]
        case _:
            return value
