"""The fields of the log line of a request or call: assistant, model, tools, provider, failure.

The gateway, and the boundary of each service, begin the fields of a request. The code that learns
something adds it. Services of one process share the fields of the request that they work for.
"""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from contextvars import ContextVar
from functools import lru_cache

import msgspec

from heddle_runtime.identity.call_metadata import Caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.redaction import known_secrets, redact_personal

FAILURES = frozenset(
    {
        *("INTERNAL", "UPSTREAM_UNAVAILABLE", "STORAGE_UNAVAILABLE", "DEADLINE_EXCEEDED"),
        *("PROVIDER_REFUSED", "PROVIDER_GARBLED", "TOOL_FAILED", "INTERNAL_ERROR"),
        *("LAMB_UNREACHABLE", "LAMB_BUSY", "LAMB_TIMEOUT", "LAMB_GARBLED", "LAMB_CUT"),
    }
)
"""The reasons of errors that operators should see. All others are up to the caller."""
_NO_ACTOR = frozenset({"nobody", ""})
MEMBERS = (
    *("organization", "actor", "key_id", "trace_id", "assistant", "model", "tools"),
    *("provider_status", "degraded", "error"),
)
"""The members of a line, in their order."""
_TRACE_ID = slice(3, 35)
"""The place of the trace id in a `traceparent`."""
_MAX_CHARACTERS = 200
_MAX_TOOLS = 16
_PSEUDONYM_CHARACTERS = 12


class LogFields(msgspec.Struct):
    """The fields of one request or call."""

    assistant: str = ""
    """The id of the assistant that answers; what the client sent, where the id is unknown."""
    model: str = ""
    """The model that answers, as `connector/model`."""
    tools: list[str] = []  # msgspec copies it for each object
    """The names of the tools that ran."""
    provider_status: int = 0
    """The HTTP status of the latest response of a model provider."""
    degraded: str = ""
    """What is missing in the answer: `tool`, or `model` if another model answers."""
    error: str = ""
    """The reason of the failure."""

    @property
    def is_warning(self) -> bool:
        """Whether operators should look at it."""
        return bool(self.degraded) or self.error in FAILURES


_FIELDS: ContextVar[LogFields] = ContextVar("heddle_log_fields")
_key = secrets.token_bytes(32)


def begin() -> None:
    """Begin the fields of a request or call."""
    _FIELDS.set(LogFields())


def current() -> LogFields:
    """Return the fields of the current request; ones that no line shows outside of requests."""
    fields = _FIELDS.get(None)
    return LogFields() if fields is None else fields


def add_tool(name: str) -> None:
    """Add a tool that has run."""
    tools = current().tools
    if name and name not in tools and len(tools) < _MAX_TOOLS:
        tools.append(name)


def add_model(name: str) -> None:
    """Add the provider's name of the model that answered, unless the model is known already."""
    fields = current()
    fields.model = fields.model or name


def add_failure(reason: str, metadata: Mapping[str, str]) -> None:
    """Add the failure of the request.

    Args:
        reason: The reason of the error.
        metadata: The metadata of the error, which names the provider's status.
    """
    fields = current()
    fields.error = reason
    status = metadata.get("http_status", "")
    if status.isdecimal():
        fields.provider_status = int(status)


def use_pseudonyms_of(secret: str) -> None:
    """Derive the names of users in log lines from a secret, which all services share."""
    global _key  # noqa: PLW0603 - like logging itself, configured once per process
    _key = secret.encode()
    pseudonym.cache_clear()


def members(fields: LogFields, current_caller: Caller) -> dict[str, object]:
    """Return the members of a line that are known, by name."""
    return {
        name: value
        for name, value in zip(MEMBERS, values(fields, current_caller), strict=True)
        if value
    }


def values(fields: LogFields, current_caller: Caller) -> tuple[str | int | list[str], ...]:
    """Return the values of `MEMBERS`; empty ones for what is not known.

    Args:
        fields: The fields of the request.
        current_caller: Its caller.
    """
    traceparent, rules = current_caller.traceparent, known_secrets()
    tools = fields.tools
    return (
        *_of_caller(current_caller.identity),
        traceparent and traceparent[_TRACE_ID],
        _cleaned(fields.assistant, rules),
        _cleaned(fields.model, rules),
        [_cleaned(tool, rules) for tool in tools] if tools else tools,
        fields.provider_status,
        fields.degraded,
        fields.error,
    )


@lru_cache(4096)
def _of_caller(identity: Identity) -> tuple[str, str, str]:
    if identity.subject in _NO_ACTOR:
        return "", "", ""
    return home(identity), actor(identity.subject), identity.key_id


def actor(subject: str) -> str:
    """Return the name of a user in log lines: a pseudonym if the subject is an e-mail address."""
    return pseudonym(subject) if "@" in subject else _cleaned(subject, known_secrets())


@lru_cache(4096)
def pseudonym(subject: str) -> str:
    """Return the same name for a user in all services that share a secret."""
    digest = hmac.digest(_key, subject.encode(), hashlib.sha256).hex()
    return f"user-{digest[:_PSEUDONYM_CHARACTERS]}"


@lru_cache(4096)
def _cleaned(text: str, _: tuple[object, ...]) -> str:
    """Return a short text without secrets and e-mail addresses."""
    return str(redact_personal(text[:_MAX_CHARACTERS]))
