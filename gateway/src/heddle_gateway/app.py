"""Puts the gateway together."""

from typing import TYPE_CHECKING

import structlog
from heddle_runtime import logs
from heddle_runtime.call_metadata import CALLER, Caller, Stopwatch
from heddle_runtime.errors import HeddleError
from heddle_runtime.organization_settings import OrganizationSettings
from heddle_runtime.service_credentials import ServiceCredentials
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from heddle_gateway.auth.authenticator import OPERATOR, Authenticator
from heddle_gateway.auth.impersonation import Impersonation
from heddle_gateway.auth.issued_keys import REMEMBERED, IssuedKeys
from heddle_gateway.auth.keys_file import Keyring, Principal, read_keys
from heddle_gateway.http import error_responses
from heddle_gateway.http.body import ClientGoneError
from heddle_gateway.http.error_responses import ErrorResponse, RejectedRequestError
from heddle_gateway.http.raw import RawRequest, RawResponse
from heddle_gateway.routes import Access, Route, find
from heddle_gateway.services import ServiceClients, connect
from heddle_gateway.settings import GatewaySettings
from heddle_gateway.state import State

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["Gateway", "GatewaySettings", "ServiceClients", "app", "connect"]

log = structlog.get_logger(__name__)
_HIDDEN = "The gateway failed. The cause is in its log, under the request id."
_CLIENT_GONE = 499  # what nginx logs for it


class Gateway:
    """The gateway as an ASGI application."""

    def __init__(self, state: State) -> None:
        self._state = state
        self.application: ASGIApp = self
        """The gateway as it is served, with all that stands before it."""
        if state.settings.cors_origins:
            self.application = CORSMiddleware(
                self,
                allow_origins=state.settings.cors_origins,
                allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
                allow_headers=["*"],
                expose_headers=[
                    "x-request-id",
                    "retry-after",
                    "x-should-retry",
                    "etag",
                    "location",
                    "content-disposition",
                    "x-heddle-warning",
                ],
            )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        watch = Stopwatch()
        exchange = RawRequest(scope, receive, send, direct=self.application is self)
        CALLER.set(Caller(exchange.request_id))
        name = "unknown"
        try:
            route = _route(exchange)
            name = route.name
            reply = await self._answer(route, exchange)
            if reply is not None and not exchange.answered(reply):
                await exchange.answer(reply)
        finally:
            code = _CLIENT_GONE if exchange.gone else exchange.status
            logs.ended("request", name, code, watch.seconds())

    def drain(self) -> None:
        """Say on `/health` that new requests should go elsewhere."""
        self._state.stopping = True

    def end_streams(self) -> None:
        """End the answers that are under way with an error that tells why."""
        self._state.running.cut_all()

    async def _answer(self, route: Route, exchange: RawRequest) -> RawResponse | None:
        """Return the answer of a route, also if it fails. None if there is nothing to send."""
        authenticator = self._state.authenticator
        try:
            if route.access is Access.OPEN:
                authenticator.enter(exchange)
            else:
                await authenticator.admit(exchange, required=route.access is Access.KEY)
            found = await route.endpoint(self._state, exchange)
            return found.reply(detail=route.detail) if isinstance(found, ErrorResponse) else found
        except HeddleError as error:
            return error_responses.of(error).reply(detail=route.detail)
        except RejectedRequestError as error:
            return error.reply(detail=route.detail)
        except ClientGoneError:
            exchange.gone = True
            return None
        except Exception:
            log.exception("unexpected failure", method=route.name)
            if exchange.status:
                raise  # the server closes the connection: the client sees that something is missing
            hidden = ErrorResponse(500, _HIDDEN, error_responses.SERVER, code="internal_error")
            return hidden.reply(detail=route.detail)


def app(settings: GatewaySettings, services: ServiceClients) -> Gateway:
    """Return the gateway.

    Raises:
        ValueError: The file of API keys is wrong.
    """
    holders = read_keys(settings.api_keys) if settings.api_keys else {}
    if settings.api_key:
        holders[settings.api_key.get_secret_value()] = Principal(OPERATOR)
    secret = settings.identity_secret.get_secret_value() if settings.identity_secret else None
    credentials = ServiceCredentials("heddle-gateway", secret)
    authenticator = Authenticator(
        Keyring(holders),
        IssuedKeys(services.accounts, credentials),
        Impersonation(services.accounts, credentials),
        secret,
        development=settings.development,
        origins=settings.cors_origins,
    )
    organizations = OrganizationSettings(
        services.accounts, credentials, remembered=REMEMBERED, without_servers=True
    )
    return Gateway(State(settings, services, authenticator, credentials, organizations))


def _route(exchange: RawRequest) -> Route:
    """Return the route of a request, or one that refuses it."""
    methods, exchange.parameters = find(exchange.scope["path"])
    if methods is None:
        return Route("unknown", _no_such_path, Access.OPEN)
    found = methods.get(_method(exchange))
    return found or Route("unknown", _no_such_method, Access.OPEN)


def _method(exchange: RawRequest) -> str:
    """Return the method of a request; HEAD is GET, and the server leaves the body out."""
    method: str = exchange.scope["method"]
    return "GET" if method == "HEAD" else method


async def _no_such_path(_: State, exchange: RawRequest) -> ErrorResponse:
    message = f"There is nothing at {exchange.scope['path'][:200]!r}."
    return ErrorResponse(404, message, code="unknown_url")


async def _no_such_method(_: State, exchange: RawRequest) -> RawResponse:
    methods, _parameters = find(exchange.scope["path"])
    possible = list(methods or ())
    allowed = ", ".join(possible + ["HEAD"] * ("GET" in possible))
    message = f"{exchange.scope['method'][:20]} is not possible here, only {allowed}."
    reply = ErrorResponse(405, message, code="method_not_allowed").reply()
    return RawResponse(reply.status, reply.body, (*reply.headers, (b"allow", allowed.encode())))
