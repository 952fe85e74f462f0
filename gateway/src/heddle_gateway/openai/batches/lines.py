"""The lines of a batch's input file, and those of its output."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from heddle_runtime.contract.limits import MAX_BATCH_LINES

from heddle_gateway.http.own_request import OwnRequest
from heddle_gateway.openai.identifiers import new_id

Endpoint = Literal["/v1/chat/completions", "/v1/responses", "/v1/embeddings", "/v1/completions"]
MAX_ID_CHARACTERS = 512
_SHOWN_FAULTS = 50
_encode = msgspec.json.encode


class Line(msgspec.Struct):
    """A request of an input file."""

    custom_id: str
    method: Literal["POST"]
    url: str
    body: msgspec.Raw


class FaultError(Exception):
    """What is wrong with a line."""

    def __init__(self, code: str, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.param = param


def read_lines(content: bytes, endpoint: str) -> tuple[list[Line], list[dict[str, Any]]]:
    """Return the requests of an input file for an endpoint, and what is wrong with it."""
    lines: list[Line] = []
    faults: list[dict[str, Any]] = []
    known: set[str] = set()
    for number, text in enumerate(content.removeprefix(b"\xef\xbb\xbf").splitlines(), 1):
        if not text.strip():
            continue
        try:
            lines.append(_line(text, endpoint, known))
        except FaultError as error:
            faults.append(_fault(error, number))
        if len(lines) > MAX_BATCH_LINES:
            fault = FaultError("too_many_lines", f"A batch has at most {MAX_BATCH_LINES} lines.")
            return [], [_fault(fault, None)]
    if not lines and not faults:
        faults.append(_fault(FaultError("empty_file", "The file has no lines."), None))
    return lines, faults[:_SHOWN_FAULTS]


def _line(text: bytes, endpoint: str, known: set[str]) -> Line:
    try:
        line = msgspec.json.decode(text, type=Line)
        body = msgspec.json.decode(line.body)
    except (msgspec.MsgspecError, ValueError) as error:
        message = f"The line is no request: {error}. It needs custom_id, method, url and body."
        raise FaultError("invalid_json_line", message) from None
    if not 0 < len(line.custom_id) <= MAX_ID_CHARACTERS:
        message = f"custom_id must have 1 to {MAX_ID_CHARACTERS} characters."
        raise FaultError("invalid_custom_id", message, "custom_id")
    if line.custom_id in known:
        message = f"custom_id {line.custom_id[:100]!r} is that of another line."
        raise FaultError("duplicate_custom_id", message, "custom_id")
    if line.url != endpoint:
        raise FaultError("mismatched_url", f"url must be {endpoint}, as of the batch.", "url")
    if not isinstance(body, dict):
        raise FaultError("invalid_body", "body must be an object.", "body")
    if body.get("stream") or body.get("background"):
        raise FaultError(
            "invalid_body", "A batch neither streams nor runs in the background.", "body"
        )
    known.add(line.custom_id)
    return line


def _fault(fault: FaultError, line: int | None) -> dict[str, Any]:
    return {"code": fault.code, "message": str(fault), "param": fault.param, "line": line}


def output_line(line: Line, exchange: OwnRequest) -> str:
    """Return the line of the output file about a request and its response."""
    response: Mapping[str, Any] = {
        "status_code": exchange.status,
        "request_id": exchange.headers.get(b"x-request-id", b"").decode(),
        "body": msgspec.Raw(b"".join(exchange.parts) or b"null"),
    }
    members = {"id": new_id("batch_req"), "custom_id": line.custom_id, "response": response}
    return _encode({**members, "error": None}).decode()
