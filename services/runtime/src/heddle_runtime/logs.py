"""One JSON line for each thing that happened, with the request's id and without its secrets."""

import logging
import sys
from collections.abc import MutableMapping
from datetime import UTC, datetime
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
        _complete(service),
        structlog.processors.format_exc_info,
    ]
    # Our own lines do not pass through the standard library: that would cost four times as much.
    structlog.configure(
        processors=[
            *shared,
            _without_secrets(_SAFE),
            structlog.processors.JSONRenderer(serializer=_to_bytes),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.BytesLoggerFactory(sys.stderr.buffer),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                *shared,
                _without_secrets(_SAFE - {"event"}),  # a library may put anything there
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


def _complete(service: str) -> structlog.typing.Processor:
    """Return what adds the members that every line has. One function: it runs for every call."""

    def complete(
        _: Any,  # noqa: ANN401 - structlog's own signature
        level: str,
        event: MutableMapping[str, Any],
    ) -> MutableMapping[str, Any]:
        event["level"] = level
        event["timestamp"] = datetime.now(UTC).isoformat()
        event.setdefault("service", service)
        if request_id := caller().request_id:
            event["request_id"] = request_id
        return event

    return complete


def _without_secrets(spared: frozenset[str]) -> structlog.typing.Processor:
    """Return what takes secrets out of every member that is not `spared`."""

    def redacted(
        _: Any,  # noqa: ANN401 - structlog's own signature
        __: str,
        event: MutableMapping[str, Any],
    ) -> MutableMapping[str, Any]:
        for name in event.keys() - spared:
            event[name] = redact_value(event[name], name)
        return event

    return redacted
