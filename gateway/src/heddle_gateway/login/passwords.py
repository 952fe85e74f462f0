"""Passwords: users change their own, administrators reset those of others."""

from typing import Annotated

from heddle.account.v1 import account_pb2 as pb
from pydantic import Field

from heddle_gateway.auth.sessions import SessionCredential, session_of
from heddle_gateway.auth.web_pages import client_address
from heddle_gateway.http.models import Model, Name, StrictModel, identifier
from heddle_gateway.login.me import Me, read_me
from heddle_gateway.login.sign_in import (
    COOKIE,
    MAX_PASSWORD_CHARACTERS,
    as_gateway,
    entered,
)
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

routes = Routes("sign-in")
Organization = Annotated[
    str, identifier("The slug of an organisation.", "uni", pattern="^[a-z0-9][a-z0-9_-]{0,62}$")
]
Email = Annotated[
    str, identifier("The e-mail address of a user.", "ann@uni.example", pattern="^[^/]+@[^/]+$")
]


class PasswordChange(StrictModel):
    """A new password of the caller."""

    current_password: Name = Field(max_length=MAX_PASSWORD_CHARACTERS)
    password: Name = Field(
        max_length=MAX_PASSWORD_CHARACTERS,
        description="At least 12 characters, 5 of them different, without the name of the address.",
    )


class PasswordReset(StrictModel):
    """A new password of a user."""

    password: str = Field(
        default="",
        max_length=MAX_PASSWORD_CHARACTERS,
        description="As in a change; empty to have it generated.",
    )


class NewPassword(Model):
    """The password that was set."""

    password: str | None = Field(
        description="The generated password. Only this response contains it. Null if the request "
        "contained it."
    )


@routes.put("/v1/me/password", errors=(400,), headers=COOKIE)
async def change_password(api: Call, body: PasswordChange) -> Me:
    """Change the password of the caller.

    All sessions end that the former password can start; a caller with a session gets a new one.
    """
    client = client_address(api.raw, api.state.settings.trusted_proxies)
    request = pb.SetPasswordRequest(**body.model_dump(), client=client)
    await call(api.services.accounts.SetPassword, request)
    credential = api.raw.credential
    if not isinstance(credential, SessionCredential):
        api.headers["set-cookie"] = api.state.browsers.set_cookie("", 0)
        return await read_me(api)
    identity = credential.identity
    api.state.browsers.sessions.forget(credential.session.token)
    again = pb.SignInRequest(
        email=identity.subject, password=body.password, organization=identity.organization
    )
    response = await as_gateway(api, api.services.accounts.SignIn, again)
    return await entered(api, session_of(response.session, response.token))


@routes.post("/organizations/{slug}/users/{email}/password", errors=(400, 404))
async def reset_password(
    api: Call, slug: Organization, email: Email, body: PasswordReset
) -> NewPassword:
    """Set the password of a user, for administrators. All sessions of the user end."""
    api.headers["cache-control"] = "no-store"
    request = pb.SetPasswordRequest(email=email, organization=slug, password=body.password)
    response = await call(api.services.accounts.SetPassword, request)
    return NewPassword(password=response.password or None)
