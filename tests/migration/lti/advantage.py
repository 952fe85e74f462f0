"""A learning platform of LTI 1.3: `lti1p3platform` over HTTP, with a roster."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import yaml
from aiohttp import web
from joserfc.jwk import RSAKey
from lti1p3platform.ltiplatform import LTI1P3PlatformConfAbstract
from lti1p3platform.message_launch import LTIAdvantageMessageLaunchAbstract
from lti1p3platform.oidc_login import OIDCLoginAbstract
from lti1p3platform.registration import Registration
from lti1p3platform.request import Request, TRequest
from migration.lti.campus import Arrival, Campus
from web_server import web_server

CLIENT, DEPLOYMENT, COURSE = "heddle-at-moodle", "1", "course 7"
ROLE = "http://purl.imsglobal.org/vocab/lis/v2/membership#"
RETURN = "https://moodle.example/return?course=7"


class _Conf(LTI1P3PlatformConfAbstract):  # type: ignore[misc] # a library without annotations
    def init_platform_config(self, registration: Registration, **_: Any) -> None:
        self._registration = registration

    def get_registration_by_params(self, **_: Any) -> Registration:
        assert self._registration
        return self._registration


class _Login(OIDCLoginAbstract):  # type: ignore[misc] # a library without annotations
    def set_lti_message_hint(self, hint: str) -> None:
        self._lti_message_hint = hint

    def get_redirect(self, url: str) -> str:
        return url


class _Query(Request):  # type: ignore[misc] # a library without annotations
    def build_metadata(self, request: Any) -> TRequest:
        return {"method": "GET", "get_data": request, "form_data": {}}


class _Launch(LTIAdvantageMessageLaunchAbstract):  # type: ignore[misc] # a library without annotations
    def render_launch_form(self, launch_data: Any, **_: Any) -> Any:
        return launch_data


@dataclass
class Moodle:
    """The platform, and the courses of its people."""

    url: str = ""
    registration: Registration = field(default_factory=Registration)
    members: list[dict[str, Any]] = field(default_factory=list)
    """Of the course, two on a page."""
    tokens: list[dict[str, str]] = field(default_factory=list)
    """The requests for tokens."""

    def conf(self) -> _Conf:
        """Return the side of the platform."""
        return _Conf(registration=self.registration)

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer as the platform's services."""
        match request.path:
            case "/keys":
                return web.json_response({"keys": self.registration.get_jwks()})
            case "/token":
                form = {name: str(value) for name, value in (await request.post()).items()}
                self.tokens.append(form)
                return web.json_response(self.conf().get_access_token(form))
            case "/members" if self.conf().validate_token(
                request.headers["authorization"].removeprefix("Bearer ")
            ):
                start = int(request.query.get("from", "0"))
                headers = {"link": f'<{self.url}/members?from={start + 2}>; rel="next"'}
                more = start + 2 < len(self.members)
                page = {"members": self.members[start : start + 2]}
                return web.json_response(page, headers=headers if more else {})
            case _:
                return web.Response(status=404)

    async def begin(self, campus: Campus, user: str) -> tuple[dict[str, str], str]:
        """Begin a launch; return what the browser brings to the platform, and its cookie."""
        self.registration.set_launch_url(f"{campus.url}/lti/launch")
        self.registration.set_deeplink_launch_url(f"{campus.url}/lti/launch")
        self.registration.set_oidc_login_url(f"{campus.url}/lti/login")
        login = _Login(None, self.conf())
        login.set_lti_message_hint("resource")
        response = await campus.browser.get(login.initiate_login(user))
        campus.browser.cookies.clear()
        assert response.status_code == 303, response.text
        target = urlsplit(response.headers["location"])
        assert f"{target.scheme}://{target.netloc}{target.path}" == f"{self.url}/authorize"
        cookie = response.headers["set-cookie"]
        assert "SameSite=None; Secure; Partitioned" in cookie
        return dict(parse_qsl(target.query)), cookie.partition(";")[0]

    def message(
        self,
        query: dict[str, str],
        user: str,
        role: str,
        resource: str = "r1",
        link: str = "",
        **claims: Any,
    ) -> dict[str, str]:
        """Return the form with which a browser goes on to Heddle.

        Without a resource, a teacher makes a new link. `claims` replace those of the message.
        """
        launch = _Launch(_Query(query), self.conf())
        email = f"{user}@uni.example"
        launch.set_user_data(user, [f"{ROLE}{role}"], user.title(), email)
        launch.set_launch_context_claim(COURSE, context_title="Optics")
        launch.set_nrps(f"{self.url}/members")
        if resource:
            launch.set_resource_link_claim(resource, title="Tutor")
        else:
            launch.set_dl(RETURN, accept_types={"ltiResourceLink"}, extra_data="course 7")
        if link:
            launch.set_custom_parameters_claim({"heddle_link": link})
        launch.set_extra_claims(claims)
        return {name: str(value) for name, value in launch.lti_launch().items()}

    async def launch(self, campus: Campus, user: str, role: str, **more: Any) -> Arrival:
        """Launch a link from the beginning to the end."""
        query, cookie = await self.begin(campus, user)
        return await campus.post(
            "/lti/launch", self.message(query, user, role, **more), cookie=cookie
        )


@asynccontextmanager
async def moodle(folder: Path) -> AsyncGenerator[tuple[Moodle, Path]]:
    """Yield a platform, and the file in which an operator registers it."""
    it = Moodle()
    async with web_server(it.answer) as it.url:
        pem = RSAKey.generate_key(2048).as_pem(private=True).decode()
        it.registration.set_iss(it.url).set_client_id(CLIENT).set_deployment_id(DEPLOYMENT)
        it.registration.set_platform_private_key(pem).set_platform_public_key(
            RSAKey.import_key(pem).as_pem(private=False).decode()
        )
        file = folder / "platforms.yaml"
        entry = {
            "id": "moodle",
            "title": "Moodle",
            "issuer": it.url,
            "client_id": CLIENT,
            "deployments": [DEPLOYMENT],
            "authorization_url": f"{it.url}/authorize",
            "token_url": f"{it.url}/token",
            "keys_url": f"{it.url}/keys",
            "organization": "physics",
            "domains": ["uni.example"],
        }
        file.write_text(yaml.safe_dump([entry]))
        yield it, file
