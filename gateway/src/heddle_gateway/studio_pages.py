"""`/studio`: the web application, which `make studio` builds into this package."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

from heddle.assistant.v1.assistant_pb2 import GetAssistantRequest
from heddle_runtime.errors import HeddleError, NotFoundError
from pydantic import Field
from starlette.responses import RedirectResponse, Response

from heddle_gateway.http.models import Model, identifier
from heddle_gateway.http.operations import Access
from heddle_gateway.http.static_files import StaticFile, StaticFiles
from heddle_gateway.login.pages import NO_FRAMES, frame_ancestors
from heddle_gateway.routing import Call, Routes
from heddle_gateway.services import call as call_service

FOLDER = Path(__file__).parent / "studio"
PATH = "/studio"
SHELL = "shell.html"
"""The page of every screen: its script shows the screen of the address."""
POLICY = "; ".join(
    (
        *("default-src 'none'", "script-src 'self'", "style-src 'self'"),
        *("img-src 'self' blob: data:", "font-src 'self'", "connect-src 'self'"),
        *("form-action 'self'", "base-uri 'none'", NO_FRAMES),
        "require-trusted-types-for 'script'",
        "trusted-types dompurify svelte-trusted-html",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "vary": "accept-encoding",
}
_FOREVER = "public, max-age=31536000, immutable"
_APPLICATION = "_app/"
_IMMUTABLE = "_app/immutable/"
"""Files whose names contain a digest of their content."""
FilePath = Annotated[
    str,
    Field(description="A screen, or a file of the web application.", examples=["assistants"]),
]
AssistantId = Annotated[str, identifier("The assistant's identifier.", "1")]
_FRAMED = f"{PATH}/chat/framed"
_WELCOME = "Heddle answers as assistants."
routes = Routes("studio", Access.OPEN)


class Welcome(Model):
    """The answer to programs at `/`."""

    message: str
    version: str = Field(description="The version of Heddle that the gateway has.")


def built_files(folder: Path = FOLDER) -> StaticFiles:
    """Return the files of the web application. They are read when the first one is requested."""
    return StaticFiles(folder, SHELL)


@routes.get("/", status=303, errors=(404,), responses={200: Welcome})
async def redirect(call: Call) -> Response:
    """Send browsers to the web application, and greet programs."""
    if "text/html" not in call.raw.header("accept"):
        welcome = Welcome(message=_WELCOME, version=version("heddle-gateway"))
        return Response(welcome.model_dump_json(), media_type="application/json")
    if call.state.studio is None:
        raise NotFoundError("There is nothing at '/'. This gateway does not serve the studio.")
    return RedirectResponse(f"{PATH}/", 303)


@routes.get(PATH, errors=(404,), content=("text/html",))
async def first_screen(call: Call) -> Response:
    """Get the first screen of the web application."""
    return _response(call, "")


@routes.get("/chat/{assistant}", status=303, errors=(404,))
async def chat(call: Call, assistant: AssistantId) -> Response:
    """Go to the chat with an assistant, as it stands in frames and links."""
    _file(call.state.studio, SHELL)
    return RedirectResponse(f"{_FRAMED}/{assistant}", 303)


@routes.get(f"{_FRAMED}/{{assistant}}", errors=(404,), content=("text/html",))
async def framed_chat(call: Call, assistant: AssistantId) -> Response:
    """Get the chat with an assistant, for frames in pages of other hosts.

    The setting `frame_hosts` of `chat` of the assistant's organisation names them.
    """
    response = _response(call, SHELL)
    if hosts := await _frame_hosts(call, assistant):
        policy = POLICY.replace(NO_FRAMES, frame_ancestors(hosts))
        response.headers["content-security-policy"] = policy
    return response


async def _frame_hosts(call: Call, assistant: str) -> Sequence[str]:
    """Return the hosts that the organisation of an assistant allows, none if there is no such."""
    request = GetAssistantRequest(reference=assistant)
    try:
        with call.state.credentials.as_service():
            known = await call_service(call.services.assistants.GetAssistant, request)
        settings = await call.state.organizations.of(
            known.assistant.organization, known.assistant.owner
        )
    except HeddleError:
        return ()
    return settings.chat.frame_hosts


@routes.get(f"{PATH}/{{path:path}}", errors=(404,), content=("text/html",))
async def screen(call: Call, path: FilePath) -> Response:
    """Get a screen or a file of the web application."""
    return _response(call, path)


def _response(call: Call, path: str) -> Response:
    file = _file(call.state.studio, path)
    coding, content = file.encoded(call.raw.header("accept-encoding"))
    etag = f"{file.etag}-{coding}"
    headers = {**_HEADERS, "content-type": file.media_type, "etag": f'"{etag}"'}
    headers["cache-control"] = _FOREVER if path.startswith(_IMMUTABLE) else "no-cache"
    if call.knows(etag):
        return Response(status_code=304, headers=headers)
    if coding != "identity":
        headers["content-encoding"] = coding
    return Response(content, headers=headers)


def _file(studio: StaticFiles | None, path: str) -> StaticFile:
    """Return the file at a path, or the shell, which shows the screen of that path.

    Raises:
        NotFoundError: The web application is not served, not built, or does not have this file.
    """
    if studio is None:
        raise NotFoundError("This gateway does not serve the studio: HEDDLE_GATEWAY_STUDIO=false.")
    try:
        studio.update()
    except OSError as error:
        message = "The studio is not built. Run `make studio`, or install a released package."
        raise NotFoundError(message) from error
    file = studio.get(path)
    if file is None and path.startswith(_APPLICATION):
        raise NotFoundError(f"The studio has no file {path[:200]!r}. Load the page again.")
    file = file or studio.get(SHELL)
    assert file is not None  # noqa: S101 - it is the file that says whether there are any
    return file
