"""The pages that a browser sees between the identity provider and a web application."""

from collections.abc import Sequence
from html import escape

from pydantic import Field
from starlette.responses import HTMLResponse

from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.http.models import Model
from heddle_gateway.state import State


class Provider(Model):
    """An identity provider."""

    id: str = Field(description="Sign in at `/login/oidc/{id}`, with a browser.")
    title: str = Field(description="Its name for people.")


class SignInWays(Model):
    """The ways of signing in."""

    password: bool = Field(description="`POST /login` with an e-mail address and a password.")
    oidc: list[Provider] = Field(description="Identity providers with OpenID Connect.")
    other_system: str | None = Field(
        description="The name of a system whose users' passwords `POST /login` accepts, too."
    )


class OfferedWays(SignInWays):
    """The ways of signing in, for who has not signed in yet."""

    setup: bool = Field(
        description="Whether the operator's account is yet to be made, with the link that Heddle "
        "prints when it starts."
    )


def sign_in_ways(state: State) -> SignInWays:
    """Return the ways of signing in that a gateway offers."""
    providers = (each.configuration for each in state.providers.values())
    return SignInWays(
        password=state.settings.password_login or state.other_system is not None,
        oidc=[Provider(id=each.id, title=each.title) for each in providers],
        other_system=state.other_system.title if state.other_system else None,
    )


MAX_RETURN_CHARACTERS = 512
DEFAULT_RETURN = "/studio/"
NO_FRAMES = "frame-ancestors 'none'"
_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">{head}<title>{title}</title>'
    '</head><body><p>{text}</p><p><a href="{link}">Continue</a></p></body></html>'
)


def page_headers(ancestors: str = NO_FRAMES, form_action: str = "'none'") -> dict[str, str]:
    """Return the headers of a page without scripts and styles.

    Args:
        ancestors: The directive that says which pages may show it in a frame.
        form_action: Where its forms may lead.
    """
    policy = f"default-src 'none'; form-action {form_action}; {ancestors}; base-uri 'none'"
    return {
        "cache-control": "no-store",
        "content-security-policy": policy,
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
    }


def frame_ancestors(hosts: Sequence[str]) -> str:
    """Return the directive that lets pages of these hosts, and own ones, show a page in a frame."""
    if not hosts:
        return NO_FRAMES
    return " ".join(["frame-ancestors 'self'", *(f"https://{each}" for each in hosts)])


def entering_page(return_to: str, ancestors: str = NO_FRAMES) -> HTMLResponse:
    """Return the page that goes to a place of this gateway.

    A redirect would be a part of the navigation that the provider started. Browsers do not send a
    cookie with `SameSite=Strict` there; they send it when a page of the gateway starts one.
    """
    link = escape(return_to)
    head = f'<meta http-equiv="refresh" content="0; url={link}">'
    text = "You are signed in."
    page = _PAGE.format(head=head, title=text, text=text, link=link)
    return HTMLResponse(page, 200, page_headers(ancestors))


def failure_page(error: ErrorResponse, request_id: str, ancestors: str = NO_FRAMES) -> HTMLResponse:
    """Return the page that says why a user is not signed in."""
    text = escape(f"{error.message} (request {request_id})")
    page = _PAGE.format(head="", title="Signing in failed", text=text, link=DEFAULT_RETURN)
    response = HTMLResponse(page, error.status, page_headers(ancestors))
    if error.retry_seconds is not None:
        response.headers["retry-after"] = str(error.retry_seconds)
    return response


def is_place_here(path: str) -> bool:
    """Return whether a path leads to this gateway and not to another web site."""
    return (
        len(path) <= MAX_RETURN_CHARACTERS
        and path.startswith("/")
        and not path.startswith("//")
        and "\\" not in path
        and path.isprintable()
    )
