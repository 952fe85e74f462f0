"""Lets a person in whom a learning platform has launched: into a group, and to its assistants."""

import hashlib
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus

from heddle.account.v1 import account_pb2 as pb
from heddle.assistant.v1.assistant_pb2 import Assistant, GetAssistantRequest
from heddle.group.v1 import group_pb2
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.login.pages import entering_page, frame_ancestors
from heddle_gateway.login.sign_in import as_gateway
from heddle_gateway.routing import Call
from heddle_runtime.errors import UnauthenticatedError
from starlette.responses import Response

from heddle_migration_service.lti.courses import Courses
from heddle_migration_service.lti.pages import chats_page
from heddle_migration_service.lti.stored_links import Link, LtiTexts

_PROVIDER = "lti"
_CHAT = "/studio/chat/framed"
_TEACHING = frozenset(
    {"instructor", "teacher", "contentdeveloper", "administrator", "teachingassistant"}
)
_FRAMES = {"iframe", "frame", "embed", "object"}
_MAX_NAME = 200
_DIGEST = 12


@dataclass(frozen=True, slots=True)
class Person:
    """Who a platform says that a person is."""

    email: str
    """The address of the account that is made for the person."""
    name: str
    roles: str = ""
    """As LTI names them, separated by commas or spaces."""
    own_email: str = ""
    """The address that the platform knows; empty if it may not say so."""

    @property
    def teaches(self) -> bool:
        """Whether it is a teacher in the course."""
        return not _TEACHING.isdisjoint(re.split(r"[\s,/#:]+", self.roles.lower()))


def texts_of(api: Call) -> LtiTexts:
    """Return what Heddle stores of links."""
    return LtiTexts(api.services.accounts, api.state.credentials)


def is_framed(api: Call, target: str = "") -> bool:
    """Return whether the page of a request stands in a frame.

    Args:
        api: The request.
        target: What the platform calls the place of the page.
    """
    return target == "iframe" or api.raw.header("sec-fetch-dest") in _FRAMES


def safe(text: str, limit: int = 80) -> str:
    """Return the beginning of an e-mail address for a text, as LAMB forms it.

    Texts that this would make equal get a digest.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", text.strip())[:limit].lower()
    if plain and plain == text:
        return plain
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST]
    return f"{plain[: limit - _DIGEST - 1]}-{digest}"


async def enter(
    api: Call, person: Person, link: Link, parts: Sequence[str], *, framed: bool
) -> tuple[Response, group_pb2.Group]:
    """Let a person in; return the page that leads to the link's assistants, and the group.

    Args:
        api: The request.
        person: Who it is.
        link: What was launched.
        parts: They identify the group of the link or the course.
        framed: Whether the page stands in a frame.

    Raises:
        HeddleError: A service failed.
        SignInFailedError: The person is disabled.
    """
    courses = Courses(api.services.groups, texts_of(api))
    owner = (await _assistant(api, link.assistants[0])).owner
    group = await courses.group(link, owner, *parts)
    if person.teaches and person.own_email in group.teachers:
        session = await sign_in(api, person.own_email, person.name, link.organization)
        places = [f"/studio/assistants/{link.assistants[0]}"]
    else:
        session = await sign_in(api, person.email, person.name, link.organization, role="member")
        places = [f"{_CHAT}/{each}" for each in link.assistants]
        if session.session.user not in group.teachers:
            await courses.add(group, [session.session.user])
    return await entered(api, session, places, framed=framed), group


async def sign_in(
    api: Call, email: str, name: str, slug: str, role: str = ""
) -> pb.SignInWithProviderResponse:
    """Start a session in one organisation.

    Args:
        api: The request.
        email: The address of the user.
        name: Of a new user.
        slug: Of the organisation.
        role: Of a new user; empty: only one that exists signs in.

    Raises:
        SignInFailedError: There is no such user, or it is disabled.
    """
    shown = "".join(filter(str.isprintable, name))[:_MAX_NAME]
    new = pb.NewUser(organization=slug, role=role, name=shown) if role else None
    request = pb.SignInWithProviderRequest(
        email=email,
        provider=_PROVIDER,
        organization=slug,
        organizations=[slug],
        new_user=new,
        groups_unknown=True,
    )
    try:
        return await as_gateway(api, api.services.accounts.SignInWithProvider, request)
    except UnauthenticatedError as error:
        raise SignInFailedError(
            f"{error.message} Ask your teacher.", HTTPStatus.FORBIDDEN
        ) from error


async def entered(
    api: Call, session: pb.SignInWithProviderResponse, places: Sequence[str], *, framed: bool
) -> Response:
    """Return the page that stores a session, and leads to a place of the studio or to a choice."""
    ancestors = await ancestors_of(api, session.session.organization)
    if len(places) == 1:
        page = entering_page(places[0], ancestors)
    else:
        known = [await _assistant(api, each.rpartition("/")[2]) for each in places]
        titles = (each.title or each.name for each in known)
        page = chats_page(zip(places, titles, strict=True), ancestors)
    seconds = session.session.expire_time.seconds - int(time.time())
    cookie = api.state.browsers.set_cookie(session.token, seconds, framed=framed)
    page.headers.append("set-cookie", cookie)
    return page


async def ancestors_of(api: Call, organization: str) -> str:
    """Return which pages may show those of an organisation in a frame."""
    settings = await api.state.organizations.of(organization, "")
    return frame_ancestors(settings.chat.frame_hosts)


async def _assistant(api: Call, identifier: str) -> Assistant:
    request = GetAssistantRequest(reference=identifier)
    response = await as_gateway(api, api.services.assistants.GetAssistant, request)
    return response.assistant
