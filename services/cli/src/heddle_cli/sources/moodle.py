"""The files of a Moodle course, by the web-service function `core_course_get_contents`."""

import json
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urldefrag, urlencode

from heddle_runtime.errors import InvalidRequestError

from heddle_cli.documents import NO_TYPE, READABLE
from heddle_cli.sources.fetching import Fetched, FetchError, fetch, origin

TOKEN = "MOODLE_TOKEN"  # noqa: S105 - the variable's name, not what it holds
_FUNCTION = "core_course_get_contents"


def course_files(address: str, token: str) -> Iterator[Fetched]:
    """Yield the files of a course that the owner of a token sees.

    Args:
        address: Of the Moodle, with the number of the course: `https://moodle.example.org#5`.
        token: Of its web services.

    Raises:
        InvalidRequestError: The course cannot be read.
    """
    url, course = urldefrag(address)
    if not (course.isdecimal() and token):
        raise InvalidRequestError(
            f"A course needs its number at the end of the address, as in https://moodle.example.org"
            f"#5, and a token of Moodle's web services in {TOKEN}."
        )
    for section in _contents(url.rstrip("/"), course, token):
        for module in section.get("modules", []):
            for file in module.get("contents", []):
                if file.get("type") == "file":
                    yield _file(file, module, url, token)


def _contents(url: str, course: str, token: str) -> list[dict[str, Any]]:
    fields = {"wstoken": token, "wsfunction": _FUNCTION, "courseid": course}
    form = urlencode({**fields, "moodlewsrestformat": "json"}).encode()
    try:
        contents = json.loads(fetch(f"{url}/webservice/rest/server.php", form)[0])
    except FetchError as error:
        raise InvalidRequestError(f"The course cannot be read: {error}.") from error
    except ValueError:
        raise InvalidRequestError(f"{url} does not answer as Moodle's web services do.") from None
    if not isinstance(contents, list):
        reason = contents.get("message") if isinstance(contents, dict) else None
        raise InvalidRequestError(f"Moodle refuses: {reason or 'no reason told'}")
    return contents


def _file(file: dict[str, Any], module: dict[str, Any], url: str, token: str) -> Fetched:
    """Return a file under the number of its activity: two activities may have the same files."""
    folder = str(file.get("filepath") or "/").strip("/")
    path = PurePosixPath(str(module.get("id", "")), folder, str(file.get("filename", "")))
    name, place = str(path), str(file.get("fileurl", ""))
    if path.suffix.lower() not in READABLE:
        return Fetched(name, problem=NO_TYPE, counts=False)
    if origin(place) != origin(url):
        return Fetched(name, problem="it is at another server", counts=False)
    try:
        data, header, _ = fetch(place, urlencode({"token": token}).encode())
    except FetchError as error:
        return Fetched(name, problem=str(error), counts=not error.is_gone)
    if header.get_content_type() == "application/json" and path.suffix != ".json":
        return Fetched(name, problem="Moodle refuses it")
    return Fetched(name, data, uri=str(module.get("url", "")))
