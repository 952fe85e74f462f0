"""`/errors`: what callers can do about a failure. Each error links to its section."""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from html import escape

from heddle_runtime.errors.guide import Explanation, anchor, explanations
from starlette.responses import HTMLResponse, RedirectResponse, Response

from heddle_gateway.http.error_responses import ERRORS_PATH
from heddle_gateway.http.operations import Access
from heddle_gateway.routing import Call, Routes

REFERENCE_PAGE = "reference/errors.html"
"""The page of the documentation site with the same sections."""
_STYLE = (
    ":root{color-scheme:light dark}"
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:45rem;margin:2rem auto;padding:0 1rem;"
    "overflow-wrap:anywhere}"
    "h2{margin-top:3rem;font-size:1.2rem}h3{margin-bottom:0;font-size:1rem}"
    ":target{background:light-dark(#fff3bf,#5c4a00)}"
)
_DIGEST = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
PLAIN_HEADERS = {
    "content-security-policy": f"default-src 'none'; style-src 'sha256-{_DIGEST}'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "cache-control": "no-cache",
}
_CODE = re.compile(r"`([^`]+)`")
routes = Routes("service", Access.OPEN)


@routes.get(ERRORS_PATH, responses={303: None}, content=("text/html",))
async def errors(call: Call) -> Response:
    """Get what each error means, its usual causes and remedies.

    With HEDDLE_DOCUMENTATION_URL, the response leads to that page of the documentation site.
    Browsers keep the fragment, which names the reason.
    """
    if site := call.state.settings.documentation_url:
        return RedirectResponse(f"{site.rstrip('/')}/{REFERENCE_PAGE}", 303)
    return HTMLResponse(_page(), 200, PLAIN_HEADERS)


@cache
def _page() -> str:
    sections = "".join(_section(reason, each) for reason, each in explanations().items())
    return plain_page("Errors", sections)


def plain_page(title: str, content: str) -> str:
    """Return a page without scripts, which `PLAIN_HEADERS` protect; `content` is HTML."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title} - Heddle</title><style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1>{content}</main></body></html>"
    )


def _section(reason: str, explanation: Explanation) -> str:
    return (
        f'<h2 id="{anchor(reason)}">{reason}</h2><p>{_html(explanation.meaning)}</p>'
        f"<h3>Usual causes</h3>{_list(explanation.causes)}"
        f"<h3>What to do</h3>{_list(explanation.remedies)}"
    )


def _list(texts: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{_html(each)}</li>' for each in texts)}</ul>"


def _html(text: str) -> str:
    return _CODE.sub(r"<code>\1</code>", escape(text, quote=False))
