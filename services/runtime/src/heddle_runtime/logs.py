"""One JSON line for each thing that happened, with the request's id and without its secrets."""

import logging
import sys
from collections.abc import MutableMapping
from typing import Any

import structlog

from heddle_runtime.calls import caller
from heddle_runtime.redaction import redact_value

# Members that are ours and never hold anything from outside; spared the search for secrets.
_SAFE = frozenset(
    {"event", "level", "timestamp", "logger", "service", "method", "code", "seconds", "request_id"}
)


def configure(service: str, level: str = "INFO") -> None:
    """Send the logs of this process, also those of libraries, to stderr as JSON lines."""
    shared: list[structlog.typing.Processor] = [
        structlog.stdlib.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _name(service),
        _tie_to_request,
    ]
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=shared,
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                structlog.processors.format_exc_info,
                _without_secrets,
                structlog.processors.JSONRenderer(),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for noisy in ("httpx", "httpcore", "aiohttp.access", "asyncio"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            *shared,
            structlog.stdlib.ProcessorFormatter.wrap_for_formatter,
        ],
        wrapper_class=structlog.stdlib.BoundLogger,
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )


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
