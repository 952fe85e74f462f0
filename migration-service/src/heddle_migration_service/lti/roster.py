"""The roster of a course, whose learners are the members of its group (names and roles service)."""

import re
import uuid
from collections.abc import AsyncIterator
from urllib.parse import urljoin, urlsplit

import httpx
import msgspec
import structlog
from heddle.group.v1 import group_pb2
from heddle_gateway.routing import Call
from heddle_runtime.errors import HeddleError
from heddle_runtime.http.egress import Egress
from heddle_runtime.http.guarded_http import new_client
from heddle_runtime.http.remote_json import RemoteError, fetch

from heddle_migration_service.lti.courses import MAX_ADDED, Courses
from heddle_migration_service.lti.platforms import Claims, Platform
from heddle_migration_service.lti.tool_key import signed

log = structlog.get_logger(__name__)
SERVICE = "https://purl.imsglobal.org/spec/lti-nrps/claim/namesroleservice"
_SCOPE = "https://purl.imsglobal.org/spec/lti-nrps/scope/contextmembership.readonly"
_TYPE = "application/vnd.ims.lti-nrps.v2.membershipcontainer+json"
_ASSERTION = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
_NEXT = re.compile(r'<([^>]+)>\s*;[^,]*rel="?next"?')
_SECONDS = 10.0
_MAX_PAGES = 100
_MAX_PAGE_BYTES = 8 * 1024 * 1024


async def follow_roster(
    api: Call, platform: Platform, claims: Claims, courses: Courses, group: group_pb2.Group
) -> None:
    """Let the learners of a course be the members of its group, if the platform names them.

    A platform that fails leaves the group as it is.
    """
    service = claims.get(SERVICE)
    url = service.get("context_memberships_url") if isinstance(service, dict) else None
    issuer = urlsplit(platform.configuration.issuer)
    if not isinstance(url, str) or urlsplit(url).scheme not in {"https", issuer.scheme}:
        return
    try:
        learners = [each async for each in _learners(api, platform, url)]
        listed = set(learners) - set(group.teachers)
        emails = sorted(listed)
        for start in range(0, len(emails), MAX_ADDED):
            await courses.add(group, emails[start : start + MAX_ADDED])
        if listed:
            await courses.keep(group, listed)
    except (httpx.HTTPError, RemoteError, HeddleError, ValueError, LookupError) as error:
        log.warning("a roster was not read", platform=platform.id, cause=type(error).__name__)


async def _learners(api: Call, platform: Platform, url: str) -> AsyncIterator[str]:
    """Yield the addresses of the learners of a course, page after page."""
    settings = api.state.settings
    egress = Egress(settings.private_networks)
    async with new_client(_SECONDS, egress, proxies=settings.proxies) as http:
        headers = {"authorization": f"Bearer {await _token(api, platform, http)}", "accept": _TYPE}
        host = urlsplit(url).netloc
        for _ in range(_MAX_PAGES):
            async with http.stream("GET", url, headers=headers) as response:
                response.raise_for_status()
                page = msgspec.json.decode(await _body(response))
            for member in page["members"]:
                person = platform.person(member, str(member["user_id"]), member.get("roles"))
                if member.get("status", "Active") == "Active" and not person.teaches:
                    yield person.email
            following = _NEXT.search(response.headers.get("link", ""))
            if following is None:
                return
            url = urljoin(url, following[1])
            if urlsplit(url).netloc != host:  # which the token is not for
                raise ValueError("the next page is at another server")


async def _token(api: Call, platform: Platform, http: httpx.AsyncClient) -> str:
    """Return a token with which the platform names the members of a course."""
    configuration = platform.configuration
    client, url = configuration.client_id, configuration.token_url
    claims = {"iss": client, "sub": client, "aud": url, "jti": uuid.uuid4().hex}
    form = {
        "grant_type": "client_credentials",
        "client_assertion_type": _ASSERTION,
        "client_assertion": await signed(api, claims),
        "scope": _SCOPE,
    }
    _, answer = await fetch(http, http.build_request("POST", url, data=form), "The platform")
    return str(answer["access_token"])


async def _body(response: httpx.Response) -> bytes:
    body = bytearray()
    async for part in response.aiter_bytes():
        body += part
        check_size(len(body))
    return bytes(body)


def check_size(page_bytes: int) -> None:
    """Refuse a page of a roster that is too large.

    Raises:
        ValueError: It is.
    """
    if page_bytes > _MAX_PAGE_BYTES:
        raise ValueError(f"the page has more than {_MAX_PAGE_BYTES:,} bytes")
