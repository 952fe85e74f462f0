"""One JSON line for each thing that happened, with the request's id and without its secrets."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import msgspec
import structlog

from heddle_runtime.calls import caller
from heddle_runtime.redaction import redact_value

# Members that are ours and never hold anything from outside; spared the search for secrets.
_SAFE = frozenset(
    {"event", "level", "timestamp", "logger", "service", "method", "code", "seconds", "request_id"}
)


def configure(service: str, level: str = "INFO") -> None:
    """Send the logs of this process, also those of libraries, to stderr as JSON lines."""
    number = logging.getLevelNamesMapping()[level.upper()]
    shared: list[structlog.typing.Processor] = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name(service),
        _tie_to_request,
        structlog.processors.format_exc_info,
        _without_secrets,
    ]
    # Our own lines do not pass through the standard library: that would cost four times as much.
    structlog.configure(
        processors=[*shared, structlog.processors.JSONRenderer(serializer=_to_bytes)],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *shared,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for noisy in ("httpx", "httpcore", "aiohttp.access", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)


def _to_bytes(event: Any, **_: Any) -> bytes:  # noqa: ANN401 - any log event
    return msgspec.json.encode(event, enc_hook=repr)


def _name(service: str) -> structlog.typing.Processor:
    def name(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:  # noqa: ANN401 - structlog's own signature
        event.setdefault("service", service)
        return event

    return name


def _tie_to_request(
    _: Any,  # noqa: ANN401 - structlog's own signature
    __: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    if request_id := caller().request_id:
        event["request_id"] = request_id
    return event


def _without_secrets(
    _: Any,  # noqa: ANN401 - structlog's own signature
    __: str,
    event: MutableMapping[str, Any],
) -> MutableMapping[str, Any]:
    for name, value in event.items():
        if name not in _SAFE:
            event[name] = redact_value(value, name)
    return event
