"""`/login` and `/logout`: sessions of browsers."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from google.protobuf.message import Message
from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import (
    HeddleError,
    InvalidRequestError,
    NotSetUpError,
    UnauthenticatedError,
    UnavailableError,
    Violation,
)
from pydantic import Field

from heddle_gateway.auth.sessions import Session, SessionCredential, session_of
from heddle_gateway.auth.web_pages import client_address
from heddle_gateway.http.models import Model, Name, StrictModel
from heddle_gateway.http.operations import Access
from heddle_gateway.login.me import Me, me_of_session
from heddle_gateway.login.pages import OfferedWays, sign_in_ways
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

ResponseT = TypeVar("ResponseT")
routes = Routes("sign-in", Access.OPEN)
MAX_EMAIL_CHARACTERS = 255
MAX_PASSWORD_CHARACTERS = 256
_SLUG_CHARACTERS = 63
_NAME_CHARACTERS = 200
_WRONG = "The e-mail address or the password is not correct."
COOKIE = {"Set-Cookie": "The token of the session: HttpOnly, SameSite=Strict."}


class Credentials(StrictModel):
    """An e-mail address and its password."""

    email: Name = Field(max_length=MAX_EMAIL_CHARACTERS)
    password: Name = Field(max_length=MAX_PASSWORD_CHARACTERS)
    organization: str = Field(
        default="",
        max_length=_SLUG_CHARACTERS,
        description="The slug of the organisation to act in. By default the user's home.",
    )


class FirstOperator(StrictModel):
    """The account of the first operator."""

    email: Name = Field(max_length=MAX_EMAIL_CHARACTERS)
    password: Name = Field(
        max_length=MAX_PASSWORD_CHARACTERS, description="As in `PUT /v1/me/password`."
    )
    secret: Name = Field(max_length=100, description="What follows the # in the link.")
    name: str = Field(default="", max_length=_NAME_CHARACTERS)


class Choice(StrictModel):
    """The organisation to act in."""

    organization: Name = Field(max_length=_SLUG_CHARACTERS, description="Its slug.")


class SignOut(StrictModel):
    """What to end."""

    everywhere: bool = Field(default=False, description="Whether all sessions of the user end.")


class SignedOut(Model):
    """What has ended."""

    ended: int = Field(description="How many sessions ended.")


@routes.get("/login")
async def read_ways(api: Call) -> OfferedWays:
    """Return the ways of signing in. No key is needed."""
    ways = sign_in_ways(api.state).model_dump()
    return OfferedWays(**ways, setup=await _lacks_operator(api))


async def _lacks_operator(api: Call) -> bool:
    """Return whether the first operator can make an account; false if that is unknown."""
    if api.state.settings.development or not api.state.settings.password_login:
        return False
    try:
        response = await as_gateway(api, api.services.accounts.GetSetup, pb.GetSetupRequest())
    except HeddleError:
        return False
    return response.operator_missing


@routes.post("/login/operator", errors=(400, 403, 409, 429, 501, 503), headers=COOKIE)
async def create_first_operator(api: Call, body: FirstOperator) -> Me:
    """Make the account of the first operator, and sign in.

    The secret is in the link that Heddle prints when it starts. It is good for one account; after
    that, the status is 409.
    """
    api.state.browsers.check_page(api.raw)
    if not api.state.settings.password_login:
        raise NotSetUpError("Users cannot sign in with a password here.")
    request = pb.CreateFirstOperatorRequest(**body.model_dump())
    await as_gateway(api, api.services.accounts.CreateFirstOperator, request)
    client = client_address(api.raw, api.state.settings.trusted_proxies)
    credentials = Credentials(email=body.email, password=body.password)
    return await entered(api, await _own_session(api, credentials, client))


@routes.post("/login", errors=(401, 403, 429, 501, 503), headers=COOKIE)
async def sign_in(api: Call, body: Credentials) -> Me:
    """Sign in with an e-mail address and a password.

    In front of another system, the password may be that of the user there. The response sets the
    cookie of the session. The status is 401, with one message, if the user is unknown or disabled
    or the password is wrong, and 429 after repeated failures.
    """
    state = api.state
    state.browsers.check_page(api.raw)
    if not (state.settings.password_login or state.other_system):
        raise NotSetUpError("Users cannot sign in with a password here.")
    client = client_address(api.raw, state.settings.trusted_proxies)
    provider, failure = await _other_provider(api, body, client)
    if provider:
        verified = pb.SignInWithProviderRequest(
            email=body.email, provider=provider, organization=body.organization
        )
        response = await as_gateway(api, api.services.accounts.SignInWithProvider, verified)
        return await entered(api, session_of(response.session, response.token))
    try:
        session = await _own_session(api, body, client)
    except UnauthenticatedError:
        if failure is not None:  # the password may be right in the other system
            raise failure from None
        raise
    return await entered(api, session)


@routes.post("/login/organization", access=Access.KEY, errors=(404,), headers=COOKIE)
async def switch_organization(api: Call, body: Choice) -> Me:
    """Act in another organisation of the user. The session gets another token.

    The status is 404 if the user cannot act there, or has signed in to one organisation only.
    """
    session = current_session(api)
    request = pb.SwitchSessionRequest(token=session.token, organization=body.organization)
    response = await as_gateway(api, api.services.accounts.SwitchSession, request)
    api.state.browsers.sessions.forget(session.token)
    return await entered(api, session_of(response.session, response.token))


@routes.post("/logout", access=Access.OPTIONAL, headers=COOKIE)
async def sign_out(api: Call, body: SignOut) -> SignedOut:
    """Sign out. Without a session nothing ends."""
    api.headers["set-cookie"] = api.state.browsers.set_cookie("", 0)
    credential = api.raw.credential
    if not isinstance(credential, SessionCredential):
        return SignedOut(ended=0)
    return SignedOut(ended=await end(api, credential.session.token, everywhere=body.everywhere))


async def _other_provider(
    api: Call, body: Credentials, client: str
) -> tuple[str, UnavailableError | None]:
    """Return the other system that accepts a password, and why it does not say so.

    Users with a password in Heddle can sign in while the other system does not answer.
    """
    system = api.state.other_system
    if system is None:
        return "", None
    try:
        accepted = await system.accepts(body.email, body.password, client)
    except UnavailableError as error:
        return "", error
    return (system.name if accepted else ""), None


async def _own_session(api: Call, body: Credentials, client: str) -> Session:
    """Start a session with a password of Heddle.

    Raises:
        UnauthenticatedError: It is wrong, or there are none.
    """
    if not api.state.settings.password_login:
        raise UnauthenticatedError(_WRONG, subject="sign-in")
    request = pb.SignInRequest(**body.model_dump(), client=client)
    response = await as_gateway(api, api.services.accounts.SignIn, request)
    return session_of(response.session, response.token)


async def entered(api: Call, session: Session) -> Me:
    """Store the token of a new session in the cookie, and end the one that it replaces."""
    former = api.state.browsers.token(api.raw)
    if former and former != session.token:
        await end(api, former)
    seconds = session.message.expire_time.seconds - int(time.time())
    api.headers["set-cookie"] = api.state.browsers.set_cookie(session.token, seconds)
    api.headers["cache-control"] = "no-store"
    return await me_of_session(api, session)


async def end(api: Call, token: str, *, everywhere: bool = False) -> int:
    """End the session of a token, or all sessions of its user, and return how many ended."""
    request = pb.EndSessionRequest(token=token, everywhere=everywhere)
    response = await as_gateway(api, api.services.accounts.EndSession, request)
    api.state.browsers.sessions.forget(token)
    return response.ended


def current_session(api: Call) -> Session:
    """Return the session of a request.

    Raises:
        InvalidRequestError: It has an API key instead.
    """
    credential = api.raw.credential
    if not isinstance(credential, SessionCredential):
        violation = Violation("authorization", "an API key acts in one organisation only")
        raise InvalidRequestError("The request has no session.", [violation])
    return credential.session


async def as_gateway(
    api: Call, method: Callable[..., Awaitable[ResponseT]], request: Message
) -> ResponseT:
    """Return the response of the account service to a request of the gateway itself.

    Raises:
        HeddleError: The call failed.
        UnavailableError: The service refuses the gateway, which is not the caller's fault.
    """
    try:
        with api.state.credentials.as_service():
            return await call(method, request)
    except UnauthenticatedError as error:
        if "subject" in error.metadata:
            raise
        raise UnavailableError("Users cannot sign in at the moment. Try again.") from error
