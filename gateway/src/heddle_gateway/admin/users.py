"""`/organizations/{slug}/users`: the users of an organisation."""

from typing import Literal, cast

from heddle.account.v1 import account_pb2 as pb
from pydantic import Field

from heddle_gateway.admin.organizations import MAX_NAME
from heddle_gateway.admin.preconditions import IfNoneMatch, is_for_new
from heddle_gateway.http.models import (
    Deleted,
    Model,
    PageSize,
    PageToken,
    Seconds,
    StrictModel,
    Text,
)
from heddle_gateway.login.me import Role
from heddle_gateway.login.passwords import Email
from heddle_gateway.login.passwords import Organization as Slug
from heddle_gateway.routing import ETAG, Call, Routes
from heddle_gateway.services import call

routes = Routes("organizations")


class UserBody(StrictModel):
    """A user as it shall be. What is missing gets its default."""

    name: Text = Field(default="", max_length=MAX_NAME, description="The name for people.")
    role: Role = Field(
        default="creator",
        description="`member` uses published assistants, `creator` also makes assistants, `admin` "
        "administers the organisation.",
    )
    disabled: bool = Field(
        default=False, description="A disabled user cannot sign in, and its keys are refused."
    )


class User(Model):
    """A user of an organisation."""

    email: str
    organization: str
    name: str
    role: Role
    disabled: bool
    home: bool = Field(
        description="Whether the organisation is the user's home. A user has at most one."
    )
    has_password: bool = Field(
        description="Whether the user has a password in this organisation. The password of the "
        "home may be valid here as well."
    )
    created: Seconds | None = Field(description="Null if that is unknown.")
    last_active: Seconds | None = Field(
        description="When the user last used a session that has not ended; null without one."
    )


class UserPage(Model):
    """A page of users."""

    users: list[User]
    next_page_token: str = Field(description="Empty on the last page.")


class UserQuery(Model):
    """The query of the list of users."""

    page_size: PageSize
    page_token: PageToken
    text: Text = Field(
        default="", description="Only those whose address or name contains it, in any case."
    )
    role: Literal["", "member", "creator", "admin"] = Field(
        default="", description="Only those with this role."
    )


@routes.get("/organizations/{slug}/users", errors=(400, 404))
async def list_users(api: Call, slug: Slug, query: UserQuery) -> UserPage:
    """List the users of an organisation, ordered by address. Only for its administrators."""
    request = pb.ListUsersRequest(organization=slug, **query.model_dump())
    page = await call(api.services.accounts.ListUsers, request)
    users = [_user(each) for each in page.users]
    return UserPage(users=users, next_page_token=page.next_page_token)


@routes.get("/organizations/{slug}/users/{email}", errors=(400, 404), headers=ETAG)
async def get(api: Call, slug: Slug, email: Email) -> User:
    """Get a user of an organisation. Only for its administrators."""
    request = pb.GetUserRequest(organization=slug, email=email)
    return _stored(api, await call(api.services.accounts.GetUser, request))


@routes.put(
    "/organizations/{slug}/users/{email}",
    errors=(404, 409),
    headers=ETAG,
    if_match=True,
    request_headers=IfNoneMatch,
)
async def put(api: Call, slug: Slug, email: Email, body: UserBody) -> User:
    """Create or replace a user of an organisation. Only for its administrators.

    If an operator does it, the organisation becomes the user's home: the user leaves the former
    one, whose keys become invalid. The change of an administrator has no effect elsewhere.
    """
    request = pb.PutUserRequest(
        organization=slug,
        email=email,
        **body.model_dump(),
        etag=api.expected_etag(),
        only_new=is_for_new(api),
    )
    return _stored(api, await call(api.services.accounts.PutUser, request))


@routes.delete("/organizations/{slug}/users/{email}", errors=(400, 404, 409), if_match=True)
async def delete(api: Call, slug: Slug, email: Email) -> Deleted:
    """Remove a user from an organisation. Only for its administrators, and not themselves.

    The password, the sessions and the keys of the user become invalid there. Assistants and
    collections stay: `POST /assistants/{id}/owner` hands an assistant over.
    """
    request = pb.DeleteUserRequest(organization=slug, email=email, etag=api.expected_etag())
    await call(api.services.accounts.DeleteUser, request)
    return Deleted(id=email)


def _stored(api: Call, response: pb.GetUserResponse | pb.PutUserResponse) -> User:
    api.set_etag(response.etag)
    return _user(response.user)


def _user(user: pb.User) -> User:
    return User.of(
        user,
        role=cast("Role", user.role),
        created=user.create_time.seconds or None,
        last_active=user.last_active_time.seconds or None,
    )
