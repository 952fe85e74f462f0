"""Writes one JSON line per event, with the request's id, without secrets and e-mail addresses.

This is the only way to stderr: the loggers of libraries, warnings, and exceptions that nothing
catches are written in the same form.
"""

import logging
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from types import TracebackType
from typing import Any, NoReturn, TextIO

import msgspec
import structlog
from structlog.typing import EventDict, Processor

from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.redaction import known_secrets, redact_personal, redact_value
from heddle_runtime.telemetry import log_fields
from heddle_runtime.telemetry.log_fields import LogFields
from heddle_runtime.telemetry.spans import current_span_id

# Members that Heddle sets itself, never from input. They are not searched for secrets.
_SAFE = frozenset(
    {"event", "level", "timestamp", "logger", "service", "method", "code", "seconds", "request_id"}
)
_MAX_CHARACTERS = 20_000
"""The length of a text. The middle of a longer one is left out: tracebacks end with their cause."""
# Libraries that log every request at INFO, or what Heddle logs itself.
_VERBOSE = (
    *("httpx", "httpx2", "httpcore", "httpcore2", "mcp", "aiohttp.access", "asyncio"),
    *("alembic", "uvicorn", "websockets"),
)
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
    organization: str = ""
    actor: str = ""
    key_id: str = ""
    trace_id: str = ""
    assistant: str = ""
    model: str = ""
    tools: list[str] = []  # msgspec copies it for each line
    provider_status: int = 0
    degraded: str = ""
    error: str = ""
    span_id: str = ""


_WriteEnded = Callable[[str, str, str | int, float, LogFields], None]
_NO_FIELDS = LogFields()


def ended(
    event: str, method: str, code: str | int, seconds: float, fields: LogFields = _NO_FIELDS
) -> None:
    """Write that a request or call has ended: as a warning if operators should look at it.

    Writes the same line as `log.info` without running structlog's processors. See docs/adr/0133.

    Args:
        event: The kind of call.
        method: Its method. Not searched for secrets, so never text from a request.
        code: Its status.
        seconds: Its duration.
        fields: What is known about it.
    """
    _write_ended(event, method, code, seconds, fields)


def _with_structlog(
    event: str, method: str, code: str | int, seconds: float, fields: LogFields
) -> None:
    write = log.warning if fields.is_warning else log.info
    members = log_fields.members(fields, caller())
    write(event, method=method, code=code, seconds=seconds, **members)


_write_ended: _WriteEnded = _with_structlog
"""Writes the line of an ended call. `configure` replaces it by a faster one."""
_configured_service = ""
_terminal: TextIO | None = None


def _directly(service: str, level: int) -> _WriteEnded:
    encode = msgspec.json.Encoder().encode
    # One system call writes a whole line of this size, so it needs neither a buffer nor a lock.
    write_line = getattr(sys.stderr.buffer, "raw", sys.stderr.buffer).write

    def write(event: str, method: str, code: str | int, seconds: float, fields: LogFields) -> None:
        is_warning = fields.is_warning
        if level > (logging.WARNING if is_warning else logging.INFO):
            return
        current = caller()
        line = _Ended(
            *(event, method, code, seconds, service, datetime.now(UTC)),
            "warning" if is_warning else "info",
            current.request_id,
            *log_fields.values(fields, current),  # type: ignore[arg-type] # in the order of MEMBERS
        )
        if current.traceparent:
            line.span_id = current_span_id(current.traceparent)
        write_line(encode(line) + b"\n")

    return write


def configure(service: str, level: str = "INFO") -> None:
    """Write the logs of this process and of its libraries to stderr as JSON lines."""
    number = logging.getLevelNamesMapping()[level.upper()]
    # Heddle's own lines bypass the standard library's logging, which costs four times as much.
    lines = structlog.BytesLogger(sys.stderr.buffer)
    global _write_ended, _configured_service  # noqa: PLW0603 - like logging itself, once per process
    _configured_service = service
    _write_ended = _directly(service, number)
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


def tell(terminal: TextIO) -> None:
    """Write why the process cannot start or ends also to `terminal`, as sentences.

    For a process whose standard error is a file.
    """
    global _terminal  # noqa: PLW0603 - as `configure`
    _terminal = terminal


def cannot_start(service: str, problems: Sequence[Mapping[str, str]]) -> NoReturn:
    """Log why the process cannot start, one line for each problem, and end it.

    Args:
        service: The service, if the process has not configured its log yet.
        problems: The members of each line, without secrets.
    """
    prepared = _prepared(_configured_service or service)
    for problem in problems:
        line = prepared(None, "critical", {"event": "cannot start", **problem})
        sys.stderr.write(f"{msgspec.json.encode(line, enc_hook=repr).decode()}\n")
        _tell(f"Heddle cannot start. {': '.join(problem.values())}")
    raise SystemExit(2)


def _tell(sentence: str) -> None:
    if _terminal is not None:
        _terminal.write(f"{sentence}\n")


def _log_uncaught_exceptions() -> None:
    """Log the exceptions that end the process or a thread, instead of printing them as they are."""

    def of_process(
        kind: type[BaseException], error: BaseException, traceback: TracebackType | None
    ) -> None:
        if issubclass(kind, KeyboardInterrupt):
            sys.__excepthook__(kind, error, traceback)
        else:
            log.critical("uncaught exception", exc_info=(kind, error, traceback))
            _tell(f"Heddle ends because of an error ({kind.__name__}). Its log has the details.")

    def of_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            log.critical("uncaught exception", exc_info=arguments.exc_value)

    def unraisable(arguments: "sys.UnraisableHookArgs") -> None:
        log.error("exception that cannot be raised", exc_info=arguments.exc_value)

    sys.excepthook, threading.excepthook, sys.unraisablehook = of_process, of_thread, unraisable


def _prepared(service: str) -> Processor:
    """Return the processor that completes a line and removes secrets. One function, for speed."""

    def prepared(logger: Any, level: str, event: EventDict) -> EventDict:  # noqa: ANN401 - structlog's own signature
        event["level"] = level
        event["timestamp"] = datetime.now(UTC)
        event.setdefault("service", service)
        current = caller()
        if current.request_id:
            event["request_id"] = current.request_id
        if current.traceparent:
            event["trace_id"] = current.traceparent[3:35]
            if span_id := current_span_id(current.traceparent):
                event["span_id"] = span_id
        if "exc_info" in event:
            event = structlog.processors.format_exc_info(logger, level, event)
        event["event"] = _message(str(event.get("event", "")), known_secrets())
        for name in event.keys() - _SAFE:
            event[name] = _cut(redact_value(event[name], name, personal=True))
        return event

    return prepared


@lru_cache(256)
def _message(text: str, _: tuple[object, ...]) -> str:
    """Return the text of an event, which is nearly always one of a few that Heddle writes."""
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
