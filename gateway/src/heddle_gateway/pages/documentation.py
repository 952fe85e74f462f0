"""`/docs`: the documentation site, which `make docs` builds into this package."""

import base64
import hashlib
import re
from html import escape
from pathlib import Path
from typing import Annotated

from pydantic import Field
from starlette.responses import HTMLResponse, RedirectResponse, Response

from heddle_gateway.http.operations import Access
from heddle_gateway.http.static_files import StaticFile, StaticFiles
from heddle_gateway.pages.errors import PLAIN_HEADERS, plain_page
from heddle_gateway.routing import Call, Routes

FOLDER = Path(__file__).parents[1] / "documentation"
PATH = "/docs"
FIRST = "index.html"
"""The first page, which the build writes last."""
_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)
_NOT_BUILT = (
    "<p>The documentation is not built. Run <code>make docs</code>, or install a released package. "
    'The routes of the API are in <a href="/openapi.json">/openapi.json</a>, and the errors at '
    '<a href="/errors">/errors</a>.</p>'
)
PagePath = Annotated[
    str, Field(description="A page of the site.", examples=["reference/rest.html"])
]
routes = Routes("service", Access.OPEN)


def built_site(folder: Path = FOLDER) -> StaticFiles:
    """Return the files of the site. They are read when the first one is requested."""
    return StaticFiles(folder, FIRST)


@routes.get(PATH, status=303)
async def first_page(call: Call) -> Response:
    """Go to the documentation, of which `reference/rest.html` describes the API."""
    return RedirectResponse(call.state.settings.documentation_url or f"{PATH}/{FIRST}", 303)


@routes.get(f"{PATH}/{{path:path}}", content=("text/html",), responses={303: None, 404: None})
async def page(call: Call, path: PagePath) -> Response:
    """Get a page or a file of the documentation.

    With HEDDLE_DOCUMENTATION_URL, the response leads to the page of that site.
    """
    if site := call.state.settings.documentation_url:
        return RedirectResponse(f"{site.rstrip('/')}/{path}", 303)
    documentation = call.state.documentation
    try:
        documentation.update()
    except OSError:
        return _missing(_NOT_BUILT)
    file = documentation.get(path)
    if file is None:
        link = f'<a href="{PATH}">the first page</a>'
        return _missing(f"<p>There is no page {escape(path[:200])}. Go to {link}.</p>")
    headers = {**_headers(file), "content-type": file.media_type, "etag": f'"{file.etag}"'}
    if call.knows(file.etag):
        return Response(status_code=304, headers=headers)
    return Response(file.contents["identity"], headers=headers)


def _missing(text: str) -> Response:
    return HTMLResponse(plain_page("Documentation", text), 404, PLAIN_HEADERS)


def _headers(file: StaticFile) -> dict[str, str]:
    """Return headers whose policy allows the scripts that the page contains, and no other text.

    The pages have styles of their own, in attributes too.
    """
    scripts = _SCRIPT.findall(file.contents["identity"]) if "html" in file.media_type else []
    digests = {base64.b64encode(hashlib.sha256(each).digest()).decode() for each in scripts}
    allowed = " ".join(["'self'", *(f"'sha256-{each}'" for each in sorted(digests))])
    return {
        "content-security-policy": f"default-src 'self'; script-src {allowed}; "
        "style-src 'self' 'unsafe-inline'; img-src 'self' data:; base-uri 'none'; "
        "form-action 'self'; frame-ancestors 'none'",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-cache",
    }
