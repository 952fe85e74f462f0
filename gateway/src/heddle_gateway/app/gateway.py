"""The gateway as an ASGI application: raw chat completions, and all other routes with Starlette."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import replace
from http import HTTPStatus
from typing import cast

import msgspec
import structlog
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import CALLER, Caller, Stopwatch, caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.serving.background import in_background
from heddle_runtime.telemetry import log_fields, logs, spans
from heddle_runtime.telemetry.export import draw
from heddle_runtime.telemetry.metrics import table
from heddle_runtime.telemetry.metrics.children import OTHER
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from heddle_gateway.app.operations import operations
from heddle_gateway.extensions import Forwarder
from heddle_gateway.http.body import ClientGoneError
from heddle_gateway.http.error_responses import (
    ErrorResponse,
    RejectedRequestError,
    add_failure,
    from_exception,
)
from heddle_gateway.http.headers import own_address
from heddle_gateway.http.json_text import NotJsonError
from heddle_gateway.http.operations import Operation
from heddle_gateway.http.raw import RawRequest
from heddle_gateway.mcp.endpoint import METADATA_PATH
from heddle_gateway.mcp.trace_context import flag_counts
from heddle_gateway.openai.batches.worker import BatchWorker
from heddle_gateway.openai.responses import socket
from heddle_gateway.routing import ChatHandler, PathEndpoint
from heddle_gateway.state import State

_MAX_METHOD_CHARACTERS = 20
_CHAT_ID = "x-openwebui-chat-id"
_CONVERSATION = re.compile(r"[A-Za-z0-9._:-]{1,128}", re.ASCII)


@contextmanager
def server_span(request: RawRequest) -> Iterator[None]:
    """Open the root span of a request that was drawn.

    The trace is the client's, or the request id is the id of a new one.
    """
    if request.trace:
        trace = spans.drawn(request.trace)
        CALLER.set(msgspec.structs.replace(CALLER.get(), traceparent=trace))
    method = request.scope["method"][:_MAX_METHOD_CHARACTERS]
    block = spans.started(
        method,
        "SERVER",
        lambda: {
            "http.request.method": method,
            "url.scheme": request.scope["scheme"],
            "heddle.request_id": request.request_id,
        },
    )
    with block:
        request.trace = block.context()
        CALLER.set(Caller(request.request_id, traceparent=request.trace))
        yield


def describe_request(request: RawRequest, code: int, *, with_user: bool) -> None:
    """Add the outcome of a request to its span.

    Args:
        request: The request.
        code: The status of its response.
        with_user: Whether to add the pseudonym of the caller and the conversation.
    """
    method = request.scope["method"][:_MAX_METHOD_CHARACTERS]
    outcome: dict[str, spans.Value] = {
        "http.route": request.route,
        "http.response.status_code": code,
    }
    if request.client_gone:
        outcome["heddle.cancelled"] = True
    if with_user and request.credential is not None:
        outcome["user.id"] = log_fields.pseudonym(request.credential.identity.subject)
        outcome["langfuse.trace.tags"] = _tags(request.credential.identity)
        if _CONVERSATION.fullmatch(conversation := request.header(_CHAT_ID)):
            outcome["session.id"] = outcome["gen_ai.conversation.id"] = conversation
    spans.annotate(lambda: outcome, f"{method} {request.route}")
    if code >= 500:  # noqa: PLR2004 - the conventions: errors of clients are none of the server
        spans.fail(log_fields.current().error or str(code))


def _tags(identity: Identity) -> list[str]:
    """Return the tags by which Langfuse sorts traces: the organisation and the assistant."""
    known = {"organization": home(identity), "assistant": log_fields.current().assistant}
    return [f"{name}:{value}" for name, value in known.items() if value]


_ANSWERS = "POST /v1/chat/completions and POST /v1/responses answer as assistants"
_STORED = "POST /v1/responses answers, and POST /v1/conversations stores conversations"
SEEMING_IDENTIFIERS = frozenset({"/v1/responses/input_tokens"})
"""Paths of absent endpoints that look like those of a thing."""
_INSTEAD: Mapping[str, str] = {
    "assistants": f"Assistants are models there: {_ANSWERS}",
    "audio": "It neither reads nor writes sound",
    "containers": "Tools of assistants work in workspaces",
    "evals": _ANSWERS,
    "fine_tuning": "Assistants are given instructions, documents and tools",
    "images": "POST /v1/images/generations generates images",
    "messages": "One message at a time: POST /v1/messages answers as an assistant",
    "moderations": "It classifies no texts",
    "realtime": _ANSWERS,
    "responses": _STORED,
    "threads": _STORED,
    "uploads": "POST /v1/files takes files",
    "videos": "POST /v1/images/generations generates images",
}


def absent_endpoint(method: str, path: str) -> ErrorResponse | None:
    """Return the error for an endpoint of OpenAI's that Heddle does not offer; None for others."""
    root, version, *rest = path.split("/")
    if root or version != "v1" or not rest or (instead := _INSTEAD.get(rest[0])) is None:
        return None
    message = f"Heddle does not offer {method[:20]} {path[:200]}. {instead}."
    return ErrorResponse(404, message, code="unsupported_endpoint")


log = structlog.get_logger(__name__)
_MCP_PATH = "/mcp"
_UNEXPECTED = from_exception(Exception()).response()
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_CLIENT_GONE = 499  # nginx logs this status for a client that disconnected
_EXPOSED_HEADERS = (
    *("x-request-id", "retry-after", "x-should-retry", "etag", "location"),
    *("content-disposition", "x-heddle-warning"),
)


class Gateway:
    """The gateway as an ASGI application."""

    def __init__(self, state: State) -> None:
        self._state = state
        served = operations(state.extensions)
        self._chat: dict[str, Operation] = {
            operation.path: operation
            for operation in served
            if operation.raw and "{" not in operation.path
        }
        settings = state.settings
        self._forwarder: Forwarder | None = None
        self._forwarder_name = ""
        if (system := state.other_system) is not None:
            self._forwarder_name = system.title
            paths = {each.path for each in served}
            is_own_key = state.authenticator.is_own_key
            self._forwarder = system.forwarder(state.running, paths, is_own_key)
        self._paths_with_detail = tuple(
            path for each in state.extensions for path in each.paths_with_detail
        )
        self._rest = Starlette(
            routes=_routes(state, served),
            exception_handlers={
                HeddleError: self._error,
                RejectedRequestError: self._error,
                HTTPException: self._http_error,
                Exception: self._error,
            },
        )
        self._rest.router.redirect_slashes = False
        self.application: ASGIApp = self
        """The application with its middleware."""
        self._with_cors: ASGIApp | None = None
        if settings.cors_origins:
            self.application = self._by_owner
            self._with_cors = CORSMiddleware(
                self,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["*"],
                expose_headers=_EXPOSED_HEADERS,
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request. A slash at the end of a path makes no difference."""
        watch = Stopwatch()
        request = RawRequest(scope, receive, send, direct=self._with_cors is None)
        CALLER.set(Caller(request.request_id))
        log_fields.begin()
        if spans.tracer is None:
            await self._answer(request, scope, receive, watch)
        elif draw(self._state.settings.traces_sample) or (
            request.trace and await flag_counts(request, self._state.authenticator, request.trace)
        ):
            await self._traced(request, scope, receive, watch)
        else:
            if request.trace:
                request.trace = spans.undrawn(request.trace)
            await self._answer(request, scope, receive, watch)

    async def _traced(
        self, request: RawRequest, scope: Scope, receive: Receive, watch: Stopwatch
    ) -> None:
        """Answer one request that was drawn, within a span."""
        with server_span(request):
            await self._answer(request, scope, receive, watch)
            describe_request(request, _code(request), with_user=self._state.settings.traces_users)

    async def _answer(
        self, request: RawRequest, scope: Scope, receive: Receive, watch: Stopwatch
    ) -> None:
        """Answer one request and write its line."""
        try:
            await self._serve(request, scope, receive)
        except ClientGoneError:
            request.client_gone = True
        except (HeddleError, RejectedRequestError) as error:
            # Of the limit, or a handshake: handlers report their own failures.
            add_failure(error)
            refusal = from_exception(error).for_path(scope["path"], request.request_id)
            await request.respond(refusal.response())
        except Exception:
            log.exception("unexpected failure", method=request.name)
            log_fields.add_failure("INTERNAL", {})
            if request.status == 0:
                await request.respond(_UNEXPECTED)
            elif not request.connection.response_complete:
                raise  # the server closes the connection: the client notices the missing part
        finally:
            for admission in request.admissions:
                admission.end()
            code, seconds = _code(request), watch.seconds()
            logs.ended("request", request.name, code, seconds, log_fields.current())
            _measure(request, code, seconds)

    async def _serve(self, request: RawRequest, scope: Scope, receive: Receive) -> None:
        """Answer one request by its path, and name its route."""
        path = scope["path"].rstrip("/") or "/"
        chat = self._chat.get(path)
        raw_path = scope["raw_path"]
        if self._forwarder is not None and self._forwarder.includes(scope):
            request.name = request.route = self._forwarder_name
            await self._forwarder.serve(request)
        elif b"%2F" in raw_path or b"%2f" in raw_path:
            # A proxy in front that permits paths sees one segment where the server decodes two.
            await request.respond(_nothing_at(raw_path.decode("latin-1")).response())
        elif chat is not None and scope["method"] == chat.method:
            request.name, request.route = chat.name, chat.path
            with self._state.running:
                await cast("ChatHandler", chat.function)(self._state, request)
        elif path in socket.PATHS and "upgrade" in scope["state"]:
            request.name, request.route = f"WebSocket {path}", path
            await socket.converse(self._state, request, self)
        else:
            scope["path"] = path
            scope["state"]["raw"] = request
            try:
                await self._rest(scope, receive, request.forward)
            finally:
                scope["state"].pop("raw", None)

    async def _by_owner(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; another system has rules of its own for pages of other origins."""
        forwards = self._forwarder is not None and self._forwarder.includes(scope)
        application = self if forwards or self._with_cors is None else self._with_cors
        await application(scope, receive, send)

    async def _error(self, request: Request, error: Exception) -> Response:
        add_failure(error)
        response = from_exception(error)
        if isinstance(error, NotJsonError) and request.url.path.startswith(self._paths_with_detail):
            response = replace(response, status=HTTPStatus.UNPROCESSABLE_ENTITY)  # as FastAPI does
        return self._to_starlette(response, request)

    async def _http_error(self, request: Request, error: Exception) -> Response:
        """Return the response for a path or a method that does not exist."""
        assert isinstance(error, HTTPException)  # noqa: S101 - registered for these
        path = request.scope["path"]
        if error.status_code == HTTPStatus.NOT_FOUND or path in SEEMING_IDENTIFIERS:
            missing = absent_endpoint(request.method, path) or _nothing_at(path)
            return self._to_starlette(missing, request)
        allowed = ", ".join(sorted((error.headers or {})["Allow"].split(", ")))
        message = f"{request.method[:20]} is not allowed here, only {allowed}."
        refusal = ErrorResponse(405, message, code="method_not_allowed")
        response = self._to_starlette(refusal, request)
        response.headers["allow"] = allowed
        return response

    def _to_starlette(self, error: ErrorResponse, request: Request) -> Response:
        path = request.scope["path"]
        error = error.for_path(path, caller().request_id)
        raw = error.response(detail=path.startswith(self._paths_with_detail))
        headers = {name.decode(): value.decode() for name, value in raw.headers}
        if raw.status == HTTPStatus.UNAUTHORIZED and path == _MCP_PATH:
            url, host = self._state.settings.public_url, request.headers.get("host", "")
            address = own_address(url, request.scope["scheme"], host) + METADATA_PATH
            headers["www-authenticate"] = f'Bearer resource_metadata="{address}"'
        return Response(raw.body, raw.status, headers)

    def working(self) -> AbstractAsyncContextManager[None]:
        """Work on batches until the block ends."""
        return in_background(BatchWorker(self._state, self).run())

    def drain(self) -> None:
        """Report on `/health` that new requests should go to another gateway."""
        self._state.stopping = True
        self._state.sockets.finish()

    def end_streams(self) -> None:
        """End the running responses with an error that gives the reason."""
        self._state.sockets.finish()
        self._state.running.stop_all()


def _routes(state: State, operations: Iterable[Operation]) -> list[Route]:
    """Return the routes; those without parameters first."""
    by_path: dict[str, dict[str, Operation]] = {}
    for operation in operations:
        by_path.setdefault(operation.path, {})[operation.method] = operation
    return [
        Route(path, PathEndpoint(state, methods), methods=list(methods))
        for path, methods in sorted(by_path.items(), key=lambda item: "{" in item[0])
    ]


def _measure(request: RawRequest, code: int, seconds: float) -> None:
    method = request.scope["method"]
    if method not in _METHODS:
        method = OTHER
    table.HTTP_REQUEST.observe(seconds, request.route, method, code)
    if request.client_gone:
        table.CANCELLED_STREAMS.add(1, "client_gone")


def _code(request: RawRequest) -> int:
    """Return the status of a request for its log line.

    A response that failed after its head was sent has the status that the failure would have had.
    """
    if request.client_gone:
        return _CLIENT_GONE
    if request.failed_status or request.status >= HTTPStatus.BAD_REQUEST:
        return request.failed_status or request.status
    return 500 if log_fields.current().error == "INTERNAL" else request.status


def _nothing_at(path: str) -> ErrorResponse:
    return ErrorResponse(404, f"There is nothing at {path[:200]!r}.", code="unknown_url")
