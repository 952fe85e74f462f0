"""Carries out the calls of capabilities that plugins send to the service."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import httpx
import structlog
from heddle_runtime.identity.call_metadata import Caller, calling_as

from heddle_tools_service.capabilities.small_model import Generate
from heddle_tools_service.definitions.capability_injection import Provider
from heddle_tools_service.sdk import ToolCall, ToolError, ToolUnavailableError
from heddle_tools_service.workers import frames
from heddle_tools_service.workers.interfaces import (
    Http,
    HttpAnswer,
    can_travel,
    decoded,
    encoded,
    methods_of,
    name_of,
    type_of,
)

log = structlog.get_logger(__name__)
_MAX_BODY_BYTES = 10 * 1024 * 1024
_MAX_AT_ONCE = 16
"""Calls of one run, their answers included until the plugin has read them."""


class CapabilityCalls:
    """Carries out the calls of one run of a tool, with the rights and in the time of that run."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        call: ToolCall[Any, Any],
        caller: Caller,
        origin: str,
    ) -> None:
        """Begin a run, whose deadline is that of `call`.

        Args:
            providers: The providers by the names of their capabilities.
            call: The call, which the providers receive.
            caller: The user whose rights apply. A context variable would not do: one process
                of a plugin serves the runs of all users.
            origin: The plugin, for the log.
        """
        self._providers = providers
        self._call = call
        self._caller = caller
        self._deadline = asyncio.get_running_loop().time() + call.seconds
        self._origin = origin
        self._slots = asyncio.Semaphore(_MAX_AT_ONCE)

    async def answer(
        self, called: frames.Called, send: Callable[[frames.Returned], Awaitable[None]]
    ) -> None:
        """Carry out a call, after earlier ones if there are many.

        Args:
            called: The call.
            send: Sends the outcome, which is an error if there is no such method.
        """
        with calling_as(self._caller):
            async with self._slots:
                await send(await self._carry_out(called))

    async def _carry_out(self, called: frames.Called) -> frames.Returned:
        try:
            async with asyncio.timeout_at(self._deadline):
                return frames.Returned(called.id, value=await self._result(called))
        except ToolError as error:
            if error.diagnosis:
                self._log(called, error.diagnosis)
            return frames.Returned(called.id, error=_as_message(error))
        except (ValueError, KeyError, TypeError) as error:
            self._log(called, repr(error))
            return _failed(called, f"{_class_name(called)} has no such method, or other arguments.")
        except Exception as error:  # noqa: BLE001 - the plugin learns that it failed
            self._log(called, repr(error))
            return _failed(called, f"{_class_name(called)} failed.")

    async def _result(self, called: frames.Called) -> bytes:
        target = self._providers[called.capability](self._call)
        method = methods_of(type_of(called.capability))[called.method]
        arguments = decoded(called.arguments, method.arguments)
        values = {name: getattr(arguments, name) for name in arguments.__struct_fields__}
        # Parameters that have no name for callers come first.
        positional = [
            values.pop(name)
            for name, parameter in method.signature.parameters.items()
            if parameter.kind is parameter.POSITIONAL_ONLY and name in values
        ]
        return encoded(await getattr(target, called.method)(*positional, **values))

    def _log(self, called: frames.Called, problem: str) -> None:
        log.warning(
            "capability failed",
            origin=self._origin,
            capability=called.capability,
            assistant=self._call.assistant.id,
            problem=problem,
        )


class Outbound:
    """The capability `Http`."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        """Send requests with a client that connects only to permitted addresses."""
        self._client = client

    async def send(
        self, method: str, url: str, headers: list[tuple[str, str]], body: bytes, seconds: float
    ) -> HttpAnswer:
        """Send a request and return the whole answer."""
        try:
            request = self._client.build_request(
                method, url, headers=headers, content=body, timeout=max(0.0, seconds)
            )
            answer = await self._client.send(request, stream=True)
            try:
                return HttpAnswer(
                    answer.status_code, answer.headers.multi_items(), await _body(answer)
                )
            finally:
                await answer.aclose()
        except httpx.HTTPError as error:
            raise ToolUnavailableError(
                str(error) or "The server does not answer.", kind=type(error).__name__
            ) from error
        except httpx.InvalidURL as error:
            raise ToolError(f"The URL is not valid: {error}", kind="UnsupportedProtocol") from None


def served(
    providers: Mapping[type, Provider], http: httpx.AsyncClient, model: Generate | None
) -> dict[str, Provider]:
    """Return the providers of the capabilities that plugins can call, by name.

    Args:
        providers: The providers of capabilities of tools that run in the service.
        http: Sends the requests of plugins.
        model: The small fast model, if there is one.
    """
    outbound = Outbound(http)
    own: dict[str, Provider] = {name_of(Http): lambda _: outbound}
    if model is not None:
        own[name_of(Generate)] = lambda _: model
    return own | {
        name_of(kind): provider for kind, provider in providers.items() if can_travel(kind)
    }


async def _body(answer: httpx.Response) -> bytes:
    body = bytearray()
    async for chunk in answer.aiter_raw():
        body += chunk
        if len(body) > _MAX_BODY_BYTES:
            message = f"The server's answer has more than {_MAX_BODY_BYTES:,} bytes."
            raise ToolError(message, kind="ReadError")
    return bytes(body)


def _class_name(called: frames.Called) -> str:
    return called.capability.rpartition(":")[2]


def _as_message(error: ToolError) -> frames.CapabilityError:
    unavailable = isinstance(error, ToolUnavailableError)
    return frames.CapabilityError(
        str(error), error.kind, unavailable, json.dumps(error.details, default=str)
    )


def _failed(called: frames.Called, message: str) -> frames.Returned:
    return frames.Returned(called.id, error=frames.CapabilityError(message))
