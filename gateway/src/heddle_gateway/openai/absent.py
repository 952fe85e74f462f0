"""OpenAI's endpoints that Heddle does not offer, and what there is instead."""

from collections.abc import Mapping

from heddle_gateway.http.error_responses import ErrorResponse

_ANSWERS = "POST /v1/chat/completions and POST /v1/responses answer as assistants"
_STORED = "POST /v1/responses answers, and POST /v1/conversations stores conversations"
SEEMING_IDENTIFIERS = frozenset({"/v1/responses/input_tokens"})
"""Paths of absent endpoints that look like those of a thing."""
_INSTEAD: Mapping[str, str] = {
    "assistants": f"Assistants are models there: {_ANSWERS}",
    "audio": "It neither reads nor writes sound",
    "containers": "Tools of assistants work in workspaces",
    "evals": _ANSWERS,
    "fine_tuning": "Assistants are given instructions, documents and tools",
    "images": "POST /v1/images/generations generates images",
    "messages": "One message at a time: POST /v1/messages answers as an assistant",
    "moderations": "It classifies no texts",
    "realtime": _ANSWERS,
    "responses": _STORED,
    "threads": _STORED,
    "uploads": "POST /v1/files takes files",
    "videos": "POST /v1/images/generations generates images",
}


def absent_endpoint(method: str, path: str) -> ErrorResponse | None:
    """Return the error for an endpoint of OpenAI's that Heddle does not offer; None for others."""
    root, version, *rest = path.split("/")
    if root or version != "v1" or not rest or (instead := _INSTEAD.get(rest[0])) is None:
        return None
    message = f"Heddle does not offer {method[:20]} {path[:200]}. {instead}."
    return ErrorResponse(404, message, code="unsupported_endpoint")
