"""`/v1/me`: who the caller is, and what the caller may do."""

from collections.abc import Sequence
from typing import Literal, cast

from heddle.account.v1 import account_pb2 as pb
from heddle_runtime.errors import HeddleError
from heddle_runtime.identity.call_metadata import caller
from heddle_runtime.identity.callers import Identity, home
from heddle_runtime.identity.permissions import LEAST_ROLES, Right, has, may_own
from pydantic import Field

from heddle_gateway.auth.sessions import KeyCredential, Session, SessionCredential
from heddle_gateway.http.models import Model, Seconds
from heddle_gateway.login.pages import SignInWays, sign_in_ways
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call

routes = Routes("sign-in")
Role = Literal["member", "creator", "admin"]


class OwnOrganization(Model):
    """An organisation that the caller can act in."""

    slug: str
    name: str = Field(description="The name for people; empty if it has none.")
    role: Role | None = Field(description="What the user is there; null if the caller is no user.")


class Features(Model):
    """What this gateway offers."""

    login: SignInWays
    extensions: list[str] = Field(description="The names of what installed packages add.")


class ChatFeatures(Model):
    """What the organisation says about the chat."""

    notice: str = Field(description="A text for all users of the chat; empty for none.")
    link: str = Field(description="The address of a page about it; empty for none.")
    stores: bool = Field(description="Whether the organisation stores conversations.")
    banner: str = Field(description="What the administrator announces; empty for nothing.")
    questions_read: bool = Field(
        description="Whether teachers can read questions, without names, of those who are told so."
    )


class Me(Model):
    """The caller."""

    subject: str = Field(description="The name under which the caller acts and owns things.")
    email: str | None = Field(description="The address of a user; null for other callers.")
    name: str = Field(description="The name of the user for people; empty if there is none.")
    organization: str = Field(description="The slug of the organisation that the caller acts in.")
    organizations: list[OwnOrganization] = Field(
        description="Where the caller can act: all organisations to which a session can be "
        "switched, for other callers only `organization`."
    )
    role: Role | None = Field(description="What the user is in `organization`.")
    rights: list[Right] = Field(
        description="What the caller may do. `use_assistants`: ask those that are published or "
        "shared. `manage_assistants`, `manage_rubrics`, `manage_collections` and "
        "`manage_own_keys`: create them and change its own. `run_tools`: without an assistant. "
        "`manage_organization`, `manage_users`, `manage_keys` and `read_audit`: in its "
        "organisation. `manage_installation`: everything, in all organisations."
    )
    authentication: Literal["session", "key", "development"]
    expires_at: Seconds | None = Field(
        description="When the session or the key ends in any case; null: never."
    )
    csrf_token: str | None = Field(
        description="The value of the header `x-csrf-token`, which requests other than GET and "
        "HEAD need with the cookie of a session. Null without a session."
    )
    features: Features
    chat: ChatFeatures


@routes.get("/v1/me")
async def read_me(api: Call) -> Me:
    """Return who the caller is, and what the caller may do.

    Without a valid key or session the status is 401; `GET /login` returns the ways of signing in.
    """
    api.headers["cache-control"] = "no-store"
    credential = api.raw.credential
    if isinstance(credential, SessionCredential):
        return await me_of_session(api, credential.session)
    is_development = isinstance(credential, KeyCredential) and credential.is_development
    identity = caller().identity
    known = await _memberships(api, identity)
    nothing = pb.Membership(organization=home(identity))
    here = next((each for each in known if each.organization == home(identity)), nothing)
    return Me(
        subject=identity.subject,
        email=_email(identity),
        name=here.name,
        organization=home(identity),
        organizations=[_organization(here)],
        role=_role(here.role),
        rights=rights_of(identity),
        authentication="development" if is_development else "key",
        expires_at=credential.expires_at if isinstance(credential, KeyCredential) else None,
        csrf_token=None,
        features=_features(api),
        chat=await _chat(api, home(identity)),
    )


async def me_of_session(api: Call, session: Session) -> Me:
    """Return the caller with a session."""
    message = session.message
    known = await _memberships(api, session.identity)
    reachable = [
        each
        for each in known
        if message.all_organizations or each.organization == message.organization
    ]
    return Me(
        subject=message.user,
        email=message.user,
        name=message.name,
        organization=message.organization,
        organizations=[_organization(each) for each in reachable],
        role=_role(message.role),
        rights=rights_of(session.identity),
        authentication="session",
        expires_at=message.expire_time.seconds,
        csrf_token=session.csrf_token,
        features=_features(api),
        chat=await _chat(api, message.organization),
    )


async def _chat(api: Call, organization: str) -> ChatFeatures:
    try:
        chat = (await api.state.organizations.of(organization, "")).chat
    except HeddleError:  # who the caller is does not depend on it
        chat = pb.ChatSettings()
    return ChatFeatures(
        notice=chat.notice,
        link=chat.link,
        stores=not chat.stores_nothing,
        banner=chat.banner,
        questions_read=chat.questions_read,
    )


def rights_of(identity: Identity) -> list[Right]:
    """Return the rights of a caller, by the rules that the services enforce."""
    withheld: set[Right] = set() if _email(identity) else {"manage_own_keys"}
    if not may_own(identity):
        withheld = {right for right, least in LEAST_ROLES.items() if least == "creator"}
    return [each for each in LEAST_ROLES if has(identity, each) and each not in withheld]


def _organization(membership: pb.Membership) -> OwnOrganization:
    return OwnOrganization(
        slug=membership.organization,
        name=membership.organization_name,
        role=_role(membership.role),
    )


def _role(text: str) -> Role | None:
    return cast("Role", text) if text else None


def _features(api: Call) -> Features:
    names = [each.name for each in api.state.extensions]
    return Features(login=sign_in_ways(api.state), extensions=names)


def _email(identity: Identity) -> str | None:
    return identity.subject if "@" in identity.subject else None


async def _memberships(api: Call, identity: Identity) -> Sequence[pb.Membership]:
    if _email(identity) is None:
        return ()
    request = pb.ListMembershipsRequest(email=identity.subject)
    with api.state.credentials.as_service():
        response = await call(api.services.accounts.ListMemberships, request)
    return response.memberships
