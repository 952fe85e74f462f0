"""Writes one JSON line per event, with the request's id, without secrets and e-mail addresses.

This is the only way to stderr: the loggers of libraries, warnings, and exceptions that nothing
catches are written in the same form.
"""

import logging
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from heddle_runtime.call_metadata import caller
from heddle_runtime.redaction import known_secrets, redact_personal, redact_value

# Members that Heddle sets itself, never from input. They are not searched for secrets.
_SAFE = frozenset(
    {"event", "level", "timestamp", "logger", "service", "method", "code", "seconds", "request_id"}
)
_MAX_CHARACTERS = 20_000
"""Of a text in a line. The middle of a longer one is left out: tracebacks end with their cause."""
# Libraries that log every request at INFO.
_VERBOSE = ("httpx", "httpx2", "httpcore", "httpcore2", "mcp", "aiohttp.access", "asyncio")
# Libraries that log what a remote server sends. The caller reports the failure without that text.
_LEAKING = ("mcp.client", "mcp.shared", "client")

log = structlog.get_logger(__name__)


class _Ended(msgspec.Struct, omit_defaults=True):
    """The line of a request or call that has ended. Every request writes several."""

    event: str
    method: str
    code: str | int
    seconds: float
    service: str
    timestamp: datetime
    level: str
    request_id: str = ""


def ended(event: str, method: str, code: str | int, seconds: float) -> None:
    """Write that a request or call has ended.

    Writes the same line as `log.info` without running structlog's processors. See docs/adr/0056.

    Args:
        event: The kind of call.
        method: Its method. Not searched for secrets, so never text from a request.
        code: Its status.
        seconds: Its duration.
    """
    _write_ended(event, method, code, seconds)


def _with_structlog(event: str, method: str, code: str | int, seconds: float) -> None:
    log.info(event, method=method, code=code, seconds=seconds)


def _nothing(_: str, __: str, ___: str | int, ____: float) -> None:
    pass


_write_ended: Callable[[str, str, str | int, float], None] = _with_structlog
"""Set by `configure`."""


def _directly(service: str) -> Callable[[str, str, str | int, float], None]:
    encode = msgspec.json.Encoder().encode
    # One system call writes a whole line of this size, so it needs neither a buffer nor a lock.
    write_line = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer).write

    def write(event: str, method: str, code: str | int, seconds: float) -> None:
        now, request_id = datetime.now(UTC), caller().request_id
        line = encode(_Ended(event, method, code, seconds, service, now, "info", request_id))
        write_line(line + b"\n")

    return write


def configure(service: str, level: str = "INFO") -> None:
    """Write the logs of this process and of its libraries to stderr as JSON lines."""
    number = logging.getLevelNamesMapping()[level.upper()]
    # Heddle's own lines bypass the standard library's logging, which costs four times as much.
    lines = structlog.BytesLogger(sys.stderr.buffer)
    global _write_ended  # noqa: PLW0603 - like logging itself, configured once per process
    _write_ended = _directly(service) if number <= logging.INFO else _nothing
    structlog.configure(
        processors=[_prepared(service), _to_bytes],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=lambda *_: lines,
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            processors=[
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(),
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _prepared(service),
                structlog.processors.JSONRenderer(default=_plain),
            ],
        )
    )
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(number)
    for logger in logging.root.manager.loggerDict.values():
        if isinstance(logger, logging.Logger):  # a library may have given it a handler of its own
            logger.handlers.clear()
            logger.propagate = True
    logging.captureWarnings(capture=True)
    _log_uncaught_exceptions()
    for name in _VERBOSE:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _LEAKING:
        logging.getLogger(name).setLevel(logging.CRITICAL)


def _log_uncaught_exceptions() -> None:
    """Log the exceptions that end the process or a thread, instead of printing them as they are."""

    def of_process(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, traceback)
        else:
            log.critical("uncaught exception", exc_info=(kind, error, traceback))

    def of_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            log.critical("uncaught exception", exc_info=arguments.exc_value)

    def unraisable(arguments: "sys.UnraisableHookArgs") -> None:
        log.error("exception that cannot be raised", exc_info=arguments.exc_value)

    sys.excepthook, threading.excepthook, sys.unraisablehook = of_process, of_thread, unraisable


def _prepared(service: str) -> Processor:
    """Return the processor that completes a line and removes secrets. One function, for speed.

    Args:
        service: The service that writes.
    """

    def prepared(logger: Any, level: str, event: EventDict) -> EventDict:  # noqa: ANN401 - structlog's own signature
        event["level"] = level
        event["timestamp"] = datetime.now(UTC)
        event.setdefault("service", service)
        if request_id := caller().request_id:
            event["request_id"] = request_id
        if "exc_info" in event:
            event = structlog.processors.format_exc_info(logger, level, event)
        event["event"] = _message(str(event.get("event", "")), known_secrets())
        for name in event.keys() - _SAFE:
            event[name] = _cut(redact_value(event[name], name, personal=True))
        return event

    return prepared


@lru_cache(256)
def _message(text: str, _: tuple[object, ...]) -> str:
    """Return the text of an event, which is nearly always one of a few that Heddle writes.

    Args:
        text: The text.
        _: The registered secrets, with which the result changes.
    """
    return str(_cut(redact_personal(text)))


def _cut(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if not isinstance(value, str) or len(value) <= _MAX_CHARACTERS:
        return value
    half = _MAX_CHARACTERS // 2
    return f"{value[:half]} … {len(value) - 2 * half:,} characters left out … {value[-half:]}"


def _to_bytes(_: Any, __: str, event: EventDict) -> bytes:  # noqa: ANN401 - structlog's own signature
    return msgspec.json.encode(event, enc_hook=repr)


def _plain(value: object) -> str:
    """Return a value that the standard library cannot encode; times as `_to_bytes` writes them."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    return repr(value)
