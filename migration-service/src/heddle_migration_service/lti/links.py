"""`/lti/…`: links of LTI 1.3, which teachers make in their learning platform."""

import hmac
import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from heddle_gateway.auth.browsers import FLOW_SECONDS, Flow, cookie_value, set_cookie
from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.http.body import read_body
from heddle_gateway.http.models import Model
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes
from starlette.responses import RedirectResponse, Response

from heddle_migration_service.lti import choices
from heddle_migration_service.lti.courses import Courses
from heddle_migration_service.lti.lamb_links import (
    PAGES,
    TAG,
    UNKNOWN_TEACHER,
    WAITING,
    as_page,
    members,
    settings_of,
)
from heddle_migration_service.lti.launches import Person, ancestors_of, enter, is_framed, texts_of
from heddle_migration_service.lti.pages import answer_page
from heddle_migration_service.lti.platforms import CLAIM, Claims, Platform, platforms_of
from heddle_migration_service.lti.roster import follow_roster
from heddle_migration_service.lti.signatures import refused
from heddle_migration_service.lti.stored_links import Link, Used
from heddle_migration_service.lti.tool_key import signed, tool_key

routes = Routes(TAG, Access.OPEN)
_DEEP_LINKING = "https://purl.imsglobal.org/spec/lti-dl/claim/"
_CUSTOM = "heddle_link"
_ACTION = "/lti/configure"
_STATE = re.compile(r"[A-Za-z0-9_-]{20,100}")
_VERSION = "1.3.0"


@dataclass(frozen=True, slots=True)
class _Launched:
    """What a platform says in a launch."""

    platform: Platform
    claims: Claims
    person: Person
    framed: bool

    @property
    def deployment(self) -> str:
        """The id of the deployment."""
        return str(self.claims[f"{CLAIM}deployment_id"])

    @property
    def resource(self) -> str:
        """The id of the link in the course."""
        return _member(self.claims, "resource_link", "id")

    @property
    def course(self) -> list[str]:
        """What identifies the course."""
        context = _member(self.claims, "context", "id") or self.resource
        return [self.platform.id, self.deployment, context]


class PublicKeys(Model):
    """The public keys of Heddle, as a JSON Web Key Set."""

    keys: list[dict[str, Any]]


@routes.get("/lti/keys")
async def keys(api: Call) -> PublicKeys:
    """Return the keys with which platforms check what Heddle sends."""
    key = await tool_key(api)
    return PublicKeys(keys=[dict(key.as_dict(private=False))])


@routes.get("/lti/login", status=303, **PAGES)
@as_page
async def start(api: Call) -> Response:
    """Begin a launch: send the browser to its platform, which says who it is."""
    return _started(api, members(api.raw.scope["query_string"].decode("latin-1")))


@routes.post("/lti/login", status=303, **PAGES)
@as_page
async def start_with_form(api: Call) -> Response:
    """Begin a launch likewise, with a form."""
    return _started(api, members(await _text(api)))


@routes.post("/lti/launch", **PAGES)
@as_page
async def launch(api: Call) -> Response:
    """Open a link, or choose what a new link leads to."""
    launched = await _verified(api, members(await _text(api)))
    person, kind = launched.person, launched.claims.get(f"{CLAIM}message_type")
    if kind == "LtiDeepLinkingRequest":
        return await _choose(api, launched, launched.course, _answer(launched))
    if kind != "LtiResourceLinkRequest" or not launched.resource:
        raise refused("It asks for something that Heddle does not have.")
    own = [launched.platform.id, launched.deployment, "resource", launched.resource]
    link = await _link(api, launched, own)
    if link is None and person.teaches:
        return await _choose(api, launched, own, {})
    if link is None:
        raise SignInFailedError(WAITING, HTTPStatus.NOT_FOUND)
    response, group = await enter(api, person, link, launched.course, framed=launched.framed)
    if person.teaches:
        courses = Courses(api.services.groups, texts_of(api))
        await follow_roster(api, launched.platform, launched.claims, courses, group)
    return response


@routes.post(_ACTION, **PAGES)
@as_page
async def configure(api: Call) -> Response:
    """Store which assistants a link has; give a new one to the platform, or go on."""
    choice, link = await choices.chosen(api, parse_qs(await _text(api)))
    platform = platforms_of(settings_of(api)).get(choice.parts[0])
    if platform is None or not choice.course:
        raise refused("Its platform is not registered any more.")
    texts, identifier = texts_of(api), secrets.token_urlsafe(16)
    parts = [platform.id, "link", identifier] if choice.answer else choice.parts
    if not await texts.put(link, *parts):
        raise SignInFailedError("The link has assistants already. Open it again.")
    await Courses(api.services.groups, texts).group(link, choice.email, *choice.course)
    if not choice.answer:
        person = Person(choice.email, "", "Instructor", choice.email)
        return (await enter(api, person, link, choice.course, framed=choice.framed))[0]
    url = choice.answer["url"]
    item = {
        "type": "ltiResourceLink",
        "title": await choices.titles(api, choice, link),
        "url": f"{_address(api)}/lti/launch",
        "custom": {_CUSTOM: identifier},
    }
    data = {f"{_DEEP_LINKING}data": choice.answer["data"]} if choice.answer["data"] else {}
    token = await signed(
        api,
        {
            "iss": platform.configuration.client_id,
            "aud": platform.configuration.issuer,
            "nonce": secrets.token_urlsafe(),
            f"{CLAIM}deployment_id": choice.answer["deployment"],
            f"{CLAIM}message_type": "LtiDeepLinkingResponse",
            f"{CLAIM}version": _VERSION,
            f"{_DEEP_LINKING}content_items": [item],
            **data,
        },
    )
    return answer_page(url, token, await ancestors_of(api, link.organization))


def _started(api: Call, form: dict[str, str]) -> Response:
    """Return the redirect to a platform. A cookie lets only this browser come back."""
    issuer, client = form.get("iss", ""), form.get("client_id", "")
    platform = next(
        (
            each
            for each in platforms_of(settings_of(api)).values()
            if each.configuration.issuer == issuer and client in ("", each.configuration.client_id)
        ),
        None,
    )
    if platform is None:
        raise refused("Its platform is not registered here.")
    flow = Flow(_flow_of(platform), "", "", f"{_address(api)}/lti/launch")
    query = {
        "scope": "openid",
        "response_type": "id_token",
        "response_mode": "form_post",
        "prompt": "none",
        "client_id": platform.configuration.client_id,
        "redirect_uri": flow.redirect_uri,
        "login_hint": form.get("login_hint", ""),
        "state": flow.state,
        "nonce": flow.nonce,
    }
    if hint := form.get("lti_message_hint"):
        query["lti_message_hint"] = hint
    url = platform.configuration.authorization_url
    target = f"{url}{'&' if '?' in url else '?'}{urlencode(query)}"
    response = RedirectResponse(target, 303, {"cache-control": "no-store"})
    response.headers["set-cookie"] = _cookie(api, flow.state, api.state.flows.seal(flow))
    return response


async def _verified(api: Call, form: dict[str, str]) -> _Launched:
    """Return what a platform says in a launch.

    Raises:
        SignInFailedError: This browser has not begun it, it is not valid, or it was used before.
    """
    state = form.get("state", "")
    name = _cookie_name(state) if _STATE.fullmatch(state) else ""
    value = cookie_value(api.raw, name, api.state.settings.public_url) if name else ""
    flow = api.state.flows.open(value)
    platforms = platforms_of(settings_of(api)).values()
    platform = next((each for each in platforms if flow and flow.provider == _flow_of(each)), None)
    if flow is None or platform is None or not hmac.compare_digest(flow.state, state):
        raise refused("It has ended, or this browser refuses the cookies of Heddle.")
    if error := form.get("error"):
        raise refused(f"{platform.configuration.title} answers {error[:100]!r}.")
    claims = await platform.provider.claims(form.get("id_token"), flow.nonce)
    if claims.get(f"{CLAIM}version") != _VERSION:
        raise refused("It is not of LTI 1.3.")
    if claims.get(f"{CLAIM}deployment_id") not in platform.configuration.deployments:
        raise refused("Its deployment is not registered here.")
    used = await texts_of(api).put(Used(), platform.id, flow.nonce, seconds=2 * FLOW_SECONDS)
    if not used:
        raise refused("It was used before.")
    person = platform.person(claims, str(claims["sub"]), claims.get(f"{CLAIM}roles"))
    framed = is_framed(api, _member(claims, "launch_presentation", "document_target"))
    return _Launched(platform, claims, person, framed)


async def _link(api: Call, launched: _Launched, own: list[str]) -> Link | None:
    """Return where a link leads: as its maker chose, or as it was set up when it was opened."""
    texts, platform, link = texts_of(api), launched.platform, None
    if identifier := _member(launched.claims, "custom", _CUSTOM):
        link = await texts.get(Link, platform.id, "link", identifier)
    link = link or await texts.get(Link, *own)
    is_its = link is not None and link.organization == platform.configuration.organization
    return link if is_its else None


async def _choose(
    api: Call, launched: _Launched, parts: list[str], answer: dict[str, str]
) -> Response:
    """Return the page on which a teacher chooses assistants."""
    person, claims = launched.person, launched.claims
    organization = launched.platform.configuration.organization
    user = await choices.author(api, person.own_email, organization) if person.teaches else None
    if user is None:
        raise SignInFailedError(UNKNOWN_TEACHER, HTTPStatus.FORBIDDEN)
    title = _member(claims, "context", "title") or _member(claims, "resource_link", "title")
    choice = choices.Choice(
        *(person.own_email, organization, user.role, title, parts, launched.framed),
        course=launched.course,
        answer=answer,
    )
    return await choices.page(api, choice, _ACTION)


def _answer(launched: _Launched) -> dict[str, str]:
    """Return what the answer to a request for a link contains."""
    settings = launched.claims.get(f"{_DEEP_LINKING}deep_linking_settings")
    settings = settings if isinstance(settings, dict) else {}
    url = str(settings.get("deep_link_return_url", ""))
    if urlsplit(url).scheme not in {"https", urlsplit(launched.claims["iss"]).scheme}:
        raise refused("It does not say where the new link belongs.")
    if "ltiResourceLink" not in settings.get("accept_types", []):
        raise refused("It accepts no links of LTI here.")
    data = str(settings.get("data", ""))
    return {"url": url, "data": data, "deployment": launched.deployment}


def _member(claims: Claims, claim: str, name: str) -> str:
    value = claims.get(f"{CLAIM}{claim}")
    member = value.get(name) if isinstance(value, dict) else None
    return member if isinstance(member, str) else ""


def _flow_of(platform: Platform) -> str:
    return f"lti:{platform.id}"


def _cookie_name(state: str) -> str:
    """Return the name of the cookie of a launch: a page may have several frames."""
    return f"heddle_lti_{state[:12]}"


def _cookie(api: Call, state: str, value: str) -> str:
    public = api.state.settings.public_url
    return set_cookie(_cookie_name(state), value, FLOW_SECONDS, "None", public)


def _address(api: Call) -> str:
    public = api.state.settings.public_url.rstrip("/")
    return public or f"http://{api.raw.header('host')}"


async def _text(api: Call) -> str:
    return (await read_body(api.raw, api.state.settings)).decode("latin-1")
