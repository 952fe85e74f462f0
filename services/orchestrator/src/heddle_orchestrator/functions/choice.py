"""The client's wishes about functions, `tool_choice` and `parallel_tool_calls`, round by round."""

from collections.abc import Callable
from typing import Any

import msgspec
from heddle.chat.v1 import chat_pb2
from heddle_runtime.errors import InvalidRequestError, Violation

_CHOICE, _PARALLEL = "tool_choice", "parallel_tool_calls"
_FREE = ("auto", "none")
_Members = dict[str, msgspec.Raw]


def begin(options: chat_pb2.GenerationOptions) -> None:
    """Let the model choose in the first round, unless the client wishes otherwise.

    Raises:
        InvalidRequestError: What the client wishes is not the text of a JSON object.
    """

    def change(members: _Members) -> None:
        members.setdefault(_CHOICE, msgspec.Raw(b'"auto"'))

    _change(options, change)


def go_on(options: chat_pb2.GenerationOptions) -> None:
    """Let the model choose in later rounds: who was made to call once may answer now."""

    def change(members: _Members) -> None:
        if _decoded(members[_CHOICE]) not in _FREE:
            members[_CHOICE] = msgspec.Raw(b'"auto"')

    _change(options, change)


def end(options: chat_pb2.GenerationOptions) -> None:
    """Take the wishes away where there are no functions: providers refuse them then."""

    def change(members: _Members) -> None:
        members.pop(_CHOICE, None)
        members.pop(_PARALLEL, None)

    _change(options, change)


def _change(options: chat_pb2.GenerationOptions, change: Callable[[_Members], None]) -> None:
    # Raw: all other members stay as the client wrote them.
    try:
        members = msgspec.json.decode(options.extra_json or "{}", type=_Members)
    except msgspec.DecodeError as error:
        wrong = Violation("options.extra_json", "must be the text of a JSON object")
        raise InvalidRequestError("The request is not valid.", [wrong]) from error
    change(members)
    options.extra_json = msgspec.json.encode(members).decode()


def _decoded(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - any JSON value
    return msgspec.json.decode(raw)
