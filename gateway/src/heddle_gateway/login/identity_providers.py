"""`/login/oidc`: signing in with an identity provider."""

import hmac
import time
from http import HTTPStatus
from typing import Annotated

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import HeddleError, NotFoundError, UnauthenticatedError
from pydantic import Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from heddle_gateway.auth.browsers import FLOW_SECONDS, Flow, cookie_value, set_cookie
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.auth.oidc.provider import IdentityProvider, VerifiedUser
from heddle_gateway.http.error_responses import ErrorResponse, from_exception, invalid
from heddle_gateway.http.headers import FLOW_COOKIE
from heddle_gateway.http.models import Model, Text, identifier
from heddle_gateway.http.operations import Access
from heddle_gateway.login.pages import (
    DEFAULT_RETURN,
    entering_page,
    failure_page,
    is_place_here,
)
from heddle_gateway.login.sign_in import as_gateway
from heddle_gateway.routing import Call, Routes

routes = Routes("sign-in", Access.OPEN)
ProviderId = Annotated[str, identifier("The id of a provider of `GET /login`.", "uni")]
_START_AGAIN = "This attempt to sign in has ended or belongs to another browser. Start again."


class Start(Model):
    """Where to go after signing in."""

    return_to: Text = Field(
        default=DEFAULT_RETURN, description="A path of this gateway, with its query."
    )
    organization: Text = Field(
        default="",
        description="The slug of the organisation to act in. By default the user's home.",
    )


class ProviderAnswer(Model):
    """What the provider says to the browser."""

    state: Text = Field(default="", description="The value that the gateway has sent.")
    code: Text = Field(default="", description="What the gateway exchanges for an ID token.")
    error: Text = Field(default="", description="Why there is no code.")
    iss: Text = Field(default="", description="The issuer, RFC 9207.")


@routes.get(
    "/login/oidc/{provider}",
    status=303,
    errors=(400, 404, 502, 503),
    headers={"Location": "The provider's page.", "Set-Cookie": "The attempt, for ten minutes."},
)
async def start(api: Call, provider: ProviderId, query: Start) -> Response:
    """Go to the page of an identity provider, with a browser."""
    known = _provider(api, provider)
    if not is_place_here(query.return_to):
        raise invalid("return_to", "must be a path of this gateway", "The query parameter")
    redirect_uri = f"{_address(api)}/login/oidc/{provider}/callback"
    flow = Flow(provider, query.return_to, query.organization, redirect_uri)
    try:
        url = await known.authorization_url(flow)
    except SignInFailedError as error:
        return _failed(api, ErrorResponse(error.status, str(error)))
    response = RedirectResponse(url, 303, {"cache-control": "no-store"})
    value = api.state.flows.seal(flow)
    response.headers["set-cookie"] = _flow_cookie(api, value, FLOW_SECONDS)
    return response


@routes.get(
    "/login/oidc/{provider}/callback",
    errors=(404,),
    content=("text/html",),
    responses={400: None, 401: None, 403: None, 502: None, 503: None},
)
async def finish(api: Call, provider: ProviderId, query: ProviderAnswer) -> Response:
    """Come back from an identity provider. The page sets the cookie of the session and goes on."""
    known = _provider(api, provider)
    try:
        flow = _flow(api, provider, query.state)
        code = _code(known, query)
        user = await known.user(flow, code, query.iss)
        response = await _sign_in(api, known, user, flow)
    except SignInFailedError as error:
        response = _failed(api, ErrorResponse(error.status, str(error)))
    except HeddleError as error:
        response = _failed(api, from_exception(error))
    response.headers.append("set-cookie", _flow_cookie(api, "", 0))
    return response


def _flow(api: Call, provider: str, state: str) -> Flow:
    """Return the attempt that this browser has started.

    Raises:
        SignInFailedError: There is none.
    """
    value = cookie_value(api.raw, FLOW_COOKIE, api.state.settings.public_url)
    flow = api.state.flows.open(value)
    if flow is None or flow.provider != provider or not _equal(state, flow.state):
        raise SignInFailedError(_START_AGAIN)
    return flow


def _code(provider: IdentityProvider, answer: ProviderAnswer) -> str:
    if answer.error or not answer.code:
        message = f"{provider.configuration.title} did not sign you in: {answer.error[:100]}"
        raise SignInFailedError(message, HTTPStatus.FORBIDDEN)
    return answer.code


async def _sign_in(
    api: Call, provider: IdentityProvider, user: VerifiedUser, flow: Flow
) -> HTMLResponse:
    configuration = provider.configuration
    request = pb.SignInWithProviderRequest(
        email=user.email,
        provider=configuration.id,
        organization=flow.organization,
        organizations=configuration.organizations,
        new_user=_new_user(user),
        groups=user.groups,
    )
    try:
        response = await as_gateway(api, api.services.accounts.SignInWithProvider, request)
    except UnauthenticatedError as error:
        raise SignInFailedError(
            f"{error.message} Ask your administrator.", HTTPStatus.FORBIDDEN
        ) from error
    page = entering_page(flow.return_to)
    seconds = response.session.expire_time.seconds - int(time.time())
    cookie = api.state.browsers.set_cookie(response.token, seconds)
    page.headers.append("set-cookie", cookie)
    return page


def _new_user(user: VerifiedUser) -> pb.NewUser | None:
    rule = user.new_users
    if rule is None:
        return None
    return pb.NewUser(organization=rule.organization, role=rule.role, name=_shown(user.name))


def _provider(api: Call, identifier_: str) -> IdentityProvider:
    provider = api.state.providers.get(identifier_)
    if provider is None:
        raise NotFoundError(f"No identity provider has the id {identifier_[:64]!r}.")
    return provider


def _address(api: Call) -> str:
    """Return the address of this gateway for browsers. The provider compares it with its own."""
    public = api.state.settings.public_url.rstrip("/")
    return public or f"http://{api.raw.header('host')}"


def _flow_cookie(api: Call, value: str, seconds: int) -> str:
    return set_cookie(FLOW_COOKIE, value, seconds, "Lax", api.state.settings.public_url)


def _failed(api: Call, error: ErrorResponse) -> HTMLResponse:
    return failure_page(error, api.raw.request_id)


def _equal(one: str, other: str) -> bool:
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def _shown(name: str) -> str:
    """Return a name as the account service accepts it."""
    return "".join(filter(str.isprintable, name))[:200]
