"""`/lamb/v1/lti…`: launches of links that were made for LAMB (LTI 1.1)."""

import hashlib
import time
from collections.abc import Awaitable, Callable, Iterator
from functools import wraps
from http import HTTPStatus
from urllib.parse import parse_qs

import msgspec
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.http.body import read_body
from heddle_gateway.http.error_responses import from_exception
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes
from heddle_runtime.contract.email_address import canonical_email
from heddle_runtime.errors import HeddleError
from pydantic import SecretStr
from starlette.responses import Response

from heddle_migration_service.lti import choices
from heddle_migration_service.lti.courses import Courses
from heddle_migration_service.lti.launches import (
    Person,
    ancestors_of,
    enter,
    entered,
    is_framed,
    safe,
    sign_in,
    texts_of,
)
from heddle_migration_service.lti.pages import failed, saved_page
from heddle_migration_service.lti.signatures import MAX_AGE_SECONDS, check_launch, refused
from heddle_migration_service.lti.stored_links import (
    ACTIVITY,
    ASSISTANT,
    AUTHORS,
    Consumer,
    Link,
    Used,
)
from heddle_migration_service.proxy.settings import LambSettings

TAG = "lti"
routes = Routes(TAG, Access.OPEN)
_ACTION = "/lamb/v1/lti/configure"
_MAX_USER = 60
_MAX_AUTHOR = 120
PAGES = {
    "content": ("text/html",),
    "responses": {400: None, 401: None, 403: None, 404: None, 503: None},
}
WAITING = "This link has no assistant yet. Its teacher opens it first and chooses one."
UNKNOWN_TEACHER = (
    "This link has no assistant yet, and Heddle knows no author with your e-mail address. Ask your "
    "administrator for an account, and open the link again."
)
Form = dict[str, str]
Handler = Callable[[Call], Awaitable[Response]]


def as_page(handler: Handler) -> Handler:
    """Let a route show its failures as a page, also in a frame."""

    @wraps(handler)
    async def answer(api: Call) -> Response:
        try:
            return await handler(api)
        except SignInFailedError as error:
            return failed(error, api.raw.request_id)
        except HeddleError as error:
            return failed(from_exception(error), api.raw.request_id)

    return answer


def settings_of(api: Call) -> LambSettings:
    """Return the settings of this extension."""
    read = (each.read_settings() for each in api.state.extensions)
    return next(each for each in read if isinstance(each, LambSettings))


@routes.post("/lamb/v1/lti/launch", **PAGES)
@as_page
async def launch_activity(api: Call) -> Response:
    """Open an activity of a course: learners chat, teachers choose assistants first."""
    body = (await read_body(api.raw, api.state.settings)).decode("latin-1")
    form = members(body)
    known = await texts_of(api).get(Consumer, ACTIVITY, form.get("oauth_consumer_key", ""))
    await _check(api, form, body, known.secret if known else _global_secret(api, form))
    identifier = form.get("resource_link_id", "")
    if not identifier:
        raise refused("It names no link.")
    person = _activity_person(form)
    framed = is_framed(api, form.get("launch_presentation_document_target", ""))
    if link := await texts_of(api).get(Link, ACTIVITY, identifier):
        return (await enter(api, person, link, [ACTIVITY, identifier], framed=framed))[0]
    if not person.teaches:
        raise SignInFailedError(WAITING, HTTPStatus.NOT_FOUND)
    email = canonical_email(form.get("lis_person_contact_email_primary", ""))
    user = await choices.author(api, email)
    if user is None:
        raise SignInFailedError(UNKNOWN_TEACHER, HTTPStatus.FORBIDDEN)
    title = form.get("resource_link_title") or form.get("context_title", "")
    choice = choices.Choice(
        *(email, user.organization, user.role, title),
        *([ACTIVITY, identifier], framed),
    )
    return await choices.page(api, choice, _ACTION)


@routes.post(_ACTION, **PAGES)
@as_page
async def configure(api: Call) -> Response:
    """Store which assistants an activity has.

    The teacher is signed in by the next launch: a platform of LTI 1.1 proves no address.
    """
    body = (await read_body(api.raw, api.state.settings)).decode("latin-1")
    choice, link = await choices.chosen(api, parse_qs(body))
    texts = texts_of(api)
    if not await texts.put(link, *choice.parts):
        raise SignInFailedError("The link has assistants already. Open it again.")
    await Courses(api.services.groups, texts).group(link, choice.email, *choice.parts)
    return saved_page(await ancestors_of(api, link.organization))


@routes.post("/lamb/v1/lti_users/lti", **PAGES)
@as_page
async def launch_assistant(api: Call) -> Response:
    """Open one assistant, which the key of the launch names."""
    body = (await read_body(api.raw, api.state.settings)).decode("latin-1")
    form = members(body)
    await _check(api, form, body, _text(settings_of(api).lti_secret))
    name = form.get("oauth_consumer_key", "")
    link = await texts_of(api).get(Link, ASSISTANT, name)
    if link is None:
        raise SignInFailedError(
            "The assistant of this link is not published any more. Ask your teacher.",
            HTTPStatus.NOT_FOUND,
        )
    user = form.get("ext_user_username") or form.get("user_id", "")
    person = Person(_account(ASSISTANT, name, user), user)
    return (await enter(api, person, link, [ASSISTANT, name], framed=is_framed(api)))[0]


@routes.post("/lamb/v1/lti_creator/launch", **PAGES)
@as_page
async def launch_studio(api: Call) -> Response:
    """Open the studio as an author of the organisation whose key signs the launch."""
    body = (await read_body(api.raw, api.state.settings)).decode("latin-1")
    form = members(body)
    known = await texts_of(api).get(Consumer, AUTHORS, form.get("oauth_consumer_key", ""))
    await _check(api, form, body, known.secret if known else "")
    identifier = form.get("user_id", "")
    if known is None or not identifier:
        raise refused("It names no user.")
    local = f"lti_creator_{known.organization}_{safe(identifier, _MAX_AUTHOR)}"
    name = form.get("lis_person_name_full") or form.get("ext_user_username") or identifier
    email = f"{local}@lamb-lti.local"
    session = await sign_in(api, email, name, known.organization, role="creator")
    return await entered(api, session, ["/studio/"], framed=is_framed(api))


async def _check(api: Call, form: Form, body: str, secret: str) -> None:
    """Check the signature of a launch, and that it is used once."""
    check_launch(body, _addresses(api), secret, time.time())
    used = (form["oauth_consumer_key"], form["oauth_timestamp"], form["oauth_nonce"])
    if not await texts_of(api).put(Used(), *used, seconds=2 * MAX_AGE_SECONDS):
        raise refused("It was used before.")


def _addresses(api: Call) -> Iterator[str]:
    """Yield the addresses that a platform may know a route by."""
    query = api.raw.scope["query_string"].decode("latin-1")
    target = f"{api.raw.scope['path']}{'?' if query else ''}{query}"
    if public := api.state.settings.public_url.rstrip("/"):
        yield f"{public}{target}"
    yield from (f"{scheme}://{api.raw.header('host')}{target}" for scheme in ("https", "http"))


def members(body: str) -> Form:
    """Return the members of a form; of several values, the last one."""
    return {name: values[-1] for name, values in parse_qs(body, keep_blank_values=True).items()}


def _global_secret(api: Call, form: Form) -> str:
    settings = settings_of(api)
    if form.get("oauth_consumer_key") != settings.lti_key:
        return ""
    return _text(settings.lti_global_secret) or _text(settings.lti_secret)


def _text(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret else ""


def _activity_person(form: Form) -> Person:
    """Return the person of a launch. Its account belongs to the activity alone, as in LAMB."""
    identifier = form.get("user_id", "")
    user = form.get("ext_user_username") or identifier
    if not user:
        raise refused("It names no user.")
    name = form.get("lis_person_name_full") or user
    return Person(_account(ACTIVITY, form["resource_link_id"], user), name, form.get("roles", ""))


def _account(kind: str, link: str, user: str) -> str:
    """Return the address of a learner's account. No other link, user or author has it."""
    digest = hashlib.sha256(msgspec.json.encode([kind, link, user])).hexdigest()
    return f"{safe(user, _MAX_USER)}-{digest[:24]}@learners.lamb-lti.local"
