"""The pages that a person sees between a course and the studio. They have no scripts."""

import re
from collections.abc import Iterable
from html import escape
from urllib.parse import urlsplit

from heddle_gateway.auth.oidc.configuration import SignInFailedError
from heddle_gateway.http.error_responses import ErrorResponse
from heddle_gateway.login.pages import failure_page, page_headers
from starlette.responses import HTMLResponse

_PAGE = (
    '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width"><title>{title}</title></head>'
    "<body><h1>{title}</h1>{content}</body></html>"
)
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.\-_\[\]:]+")
_ANYWHERE = "frame-ancestors *"
Choices = Iterable[tuple[str, str]]
"""Identifiers, or addresses, and what people see."""


def chats_page(choices: Choices, ancestors: str) -> HTMLResponse:
    """Return the page on which a learner chooses one of several chats."""
    rows = (f'<li><a href="{escape(url)}">{escape(text)}</a></li>' for url, text in choices)
    content = f"<ul>{''.join(rows)}</ul>"
    return _page("Choose an assistant", content, page_headers(ancestors))


def choice_page(choices: Choices, action: str, token: str, ancestors: str) -> HTMLResponse:
    """Return the page on which a teacher chooses the assistants of a link."""
    rows = "".join(
        '<p><label><input type="checkbox" name="assistant_ids" '
        f'value="{escape(identifier)}"> {escape(text)}</label></p>'
        for identifier, text in choices
    )
    if not rows:
        rows = "<p>You have no assistant yet. Make one in the studio, then open the link again.</p>"
    hidden = f'<input type="hidden" name="token" value="{escape(token)}">'
    content = (
        "<p>Learners who open this link chat with the assistants that you choose. Heddle makes a "
        f'group of them, which you teach.</p><form method="post" action="{action}">{hidden}{rows}'
        "<button>Save</button></form>"
    )
    return _page("Choose assistants", content, page_headers(ancestors, "'self'"))


def saved_page(ancestors: str) -> HTMLResponse:
    """Return the page that says that a link has its assistants."""
    content = "<p>Open the link in your course again.</p>"
    return _page("The link is ready", content, page_headers(ancestors))


def answer_page(url: str, token: str, ancestors: str) -> HTMLResponse:
    """Return the page that hands a new link to a platform, at `url`."""
    parts = urlsplit(url)
    place = f"{parts.scheme}://{parts.netloc}"
    action = place if _ORIGIN.fullmatch(place) else "'none'"
    hidden = f'<input type="hidden" name="JWT" value="{escape(token)}">'
    content = (
        f'<form method="post" action="{escape(url)}">{hidden}'
        "<button>Add the link to the course</button></form>"
    )
    return _page("The link is ready", content, page_headers(ancestors, action))


def failed(error: ErrorResponse | SignInFailedError, request_id: str) -> HTMLResponse:
    """Return the page that says why a launch ends here. It shows nothing of a person."""
    if isinstance(error, SignInFailedError):
        error = ErrorResponse(error.status, str(error))
    return failure_page(error, request_id, _ANYWHERE)


def _page(title: str, content: str, headers: dict[str, str]) -> HTMLResponse:
    return HTMLResponse(_PAGE.format(title=title, content=content), 200, headers)
