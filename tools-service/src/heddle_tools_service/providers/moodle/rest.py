"""Calls functions of a Moodle site over its REST protocol."""

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

import httpx
from heddle_runtime.redaction import REDACTED, redact_personal

from heddle_tools_service.providers.remote import fetch
from heddle_tools_service.sdk import ToolError

_WHO = "Moodle"
_SERVER = "/webservice/rest/server.php"
_REFUSALS = frozenset({"exception", "errorcode", "error"})
_MAX_MESSAGE_CHARS = 300
_CODE = re.compile(r"[A-Za-z0-9_/-]{1,80}", re.ASCII)

Value = str | int | Sequence[int] | Sequence[str]
CallFunction = Callable[..., Awaitable[Any]]
"""`call_function` for one site."""


@dataclass(frozen=True, slots=True)
class MoodleSite:
    """The address of a Moodle, and the token of its web service."""

    url: str
    """The address of the site, or of its `server.php`; without a slash at the end."""
    token: str = field(repr=False)
    guarded: bool = False
    """Whether an organisation configured the site: then only permitted addresses are reached."""

    @property
    def endpoint(self) -> str:
        """The address to which calls of functions are sent."""
        return self.url if self.url.endswith(".php") else f"{self.url}{_SERVER}"


async def call_function(
    http: httpx.AsyncClient, site: MoodleSite, function: str, **parameters: Value
) -> Any:  # noqa: ANN401 - each function has its own shape
    """Call a function of the web service and return its answer.

    The token travels in the body: addresses are written into the logs of servers and proxies.

    Raises:
        ToolError: Moodle refuses, or answers nonsense. The message never holds the token.
        ToolUnavailableError: It does not answer.
    """
    form = {
        "wstoken": site.token,
        "wsfunction": function,
        "moodlewsrestformat": "json",
        **_flat(parameters),
    }
    request = http.build_request("POST", site.endpoint, data=form)
    status, answer = await fetch(http, request, _WHO)
    # Moodle answers 200 also when it refuses.
    if isinstance(answer, Mapping) and not _REFUSALS.isdisjoint(answer):
        raise _refusal(site, function, answer)
    if status >= HTTPStatus.BAD_REQUEST:
        raise ToolError(f"{_WHO} answered {status} to {function}.")
    return answer


def objects(value: object, name: str = "the answer") -> list[Mapping[str, Any]]:
    """Return a value of an answer if it is a list of objects.

    Raises:
        ToolError: It is something else.
    """
    if isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        return value
    raise ToolError(f"Moodle's answer cannot be read: {name} is not a list of objects.")


def whole(value: object) -> int:
    """Return a positive number or time; otherwise 0, which stands for "none" in Moodle."""
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else 0


def _flat(parameters: Mapping[str, Value]) -> dict[str, str]:
    """Return parameters as PHP reads them: a list is `name[0]`, `name[1]` and so on."""
    flat: dict[str, str] = {}
    for name, value in parameters.items():
        if isinstance(value, str | int):
            flat[name] = str(value)
        else:
            flat.update({f"{name}[{index}]": str(each) for index, each in enumerate(value)})
    return flat


def _refusal(site: MoodleSite, function: str, answer: Mapping[str, Any]) -> ToolError:
    # A plug-in can write anything there.
    code = _without(site.token, answer.get("errorcode"))
    code = code if _CODE.fullmatch(code) else "unknown"
    reason = redact_personal(_without(site.token, answer.get("message") or answer.get("error")))
    message = (
        f"Moodle refuses {function} ({code}): {reason[:_MAX_MESSAGE_CHARS] or 'no reason given'}"
    )
    return ToolError(message, kind="moodle_error", details={"errorcode": code})


def _without(secret: str, text: object) -> str:
    return str(text or "").replace(secret, REDACTED)
