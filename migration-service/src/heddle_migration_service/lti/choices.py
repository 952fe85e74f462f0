"""The assistants that a teacher chooses for a link: the page, and what it stands for."""

import time
from collections.abc import Sequence
from http import HTTPStatus

import msgspec
from heddle.account.v1 import account_pb2
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.auth.sealed_texts import SealedTexts
from heddle_gateway.login.sign_in import as_gateway
from heddle_gateway.routing import Call
from heddle_gateway.services import call
from heddle_runtime.contract.email_address import canonical_email
from starlette.responses import Response

from heddle_migration_service.lti.courses import acting
from heddle_migration_service.lti.launches import ancestors_of
from heddle_migration_service.lti.pages import choice_page
from heddle_migration_service.lti.stored_links import Link

_SECONDS = 1800
_MAX_SHOWN = 1000
_PURPOSE = b"heddle lti choice"
_AUTHORS = {"creator", "admin"}
_ENDED = "The page has ended. Open the link in your course again."


class Choice(msgspec.Struct, frozen=True):
    """A teacher who chooses assistants, and what for."""

    email: str
    organization: str
    role: str
    title: str
    parts: list[str]
    """They identify the link or the course."""
    framed: bool = False
    course: list[str] = []
    """They identify the course of a link of LTI 1.3, whose group it fills."""
    ends_at: int = msgspec.field(default_factory=lambda: int(time.time()) + _SECONDS)
    answer: dict[str, str] = {}
    """Of a link that the platform does not have yet: what the answer to it contains."""


async def author(api: Call, email: str, slug: str = "") -> account_pb2.Membership | None:
    """Return what the user of an address is where it makes assistants; None if nowhere.

    Args:
        api: The request.
        email: As a platform writes it; empty if it may not say so.
        slug: Of the only organisation that counts; empty: all count.
    """
    if not email:
        return None
    request = account_pb2.ListMembershipsRequest(email=canonical_email(email))
    response = await as_gateway(api, api.services.accounts.ListMemberships, request)
    return next(
        (
            each
            for each in response.memberships
            if each.role in _AUTHORS and slug in ("", each.organization)
        ),
        None,
    )


async def page(api: Call, choice: Choice, action: str) -> Response:
    """Return the page on which a teacher chooses; `action` is where its form leads."""
    shown = [(each.id, each.title or each.name) for each in await _assistants(api, choice)]
    token = _sealed(api).seal(msgspec.json.encode(choice).decode())
    return choice_page(shown, action, token, await ancestors_of(api, choice.organization))


async def chosen(api: Call, form: dict[str, list[str]]) -> tuple[Choice, Link]:
    """Return the choice that a form completes, with the link that it makes.

    Raises:
        SignInFailedError: The page has ended, or names no assistant of the teacher.
    """
    opened = _sealed(api).open(form.get("token", [""])[0])
    choice = msgspec.json.decode(opened, type=Choice) if opened else None
    if choice is None or choice.ends_at < time.time():
        raise SignInFailedError(_ENDED, HTTPStatus.FORBIDDEN)
    chosen_ids = set(form.get("assistant_ids", []))
    own = [each.id for each in await _assistants(api, choice) if each.id in chosen_ids]
    if not own or chosen_ids - set(own):
        raise SignInFailedError("Go back and choose at least one assistant.")
    return choice, Link(choice.organization, own, choice.title)


async def titles(api: Call, choice: Choice, link: Link) -> str:
    """Return what people see of the assistants of a link."""
    names = {each.id: each.title or each.name for each in await _assistants(api, choice)}
    return ", ".join(names.get(each, each) for each in link.assistants)


async def _assistants(api: Call, choice: Choice) -> Sequence[pb.AssistantSummary]:
    """Return the assistants of the teacher, which the teacher may publish to a group."""
    request = pb.ListAssistantsRequest(page_size=_MAX_SHOWN, selection=pb.SELECTION_OWN)
    with acting(choice.email, choice.organization, choice.role):
        response = await call(api.services.assistants.ListAssistants, request)
    return response.assistants


def _sealed(api: Call) -> SealedTexts:
    return SealedTexts(api.state.settings.identity_secret, _PURPOSE)
