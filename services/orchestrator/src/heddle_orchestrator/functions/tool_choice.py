"""Changes the options `tool_choice` and `parallel_tool_calls` between the rounds of a run."""

from collections.abc import Callable
from typing import Any

import msgspec
from heddle.chat.v1 import chat_pb2
from heddle_runtime.errors import InvalidRequestError, Violation

_CHOICE, _PARALLEL = "tool_choice", "parallel_tool_calls"
_FREE = ("auto", "none")
_Members = dict[str, msgspec.Raw]


def begin(options: chat_pb2.GenerationOptions) -> None:
    """Set `tool_choice` to `auto` for the first round, unless the client set it.

    Raises:
        InvalidRequestError: The client's options are not a JSON object.
    """

    def change(members: _Members) -> None:
        members.setdefault(_CHOICE, msgspec.Raw(b'"auto"'))

    _change(options, change)


def go_on(options: chat_pb2.GenerationOptions) -> None:
    """Allow an answer in later rounds, even if the client required a call."""

    def change(members: _Members) -> None:
        if _decoded(members[_CHOICE]) not in _FREE:
            members[_CHOICE] = msgspec.Raw(b'"auto"')

    _change(options, change)


def end(options: chat_pb2.GenerationOptions) -> None:
    """Remove both options: providers reject them in requests without functions."""

    def change(members: _Members) -> None:
        members.pop(_CHOICE, None)
        members.pop(_PARALLEL, None)

    _change(options, change)


def _change(options: chat_pb2.GenerationOptions, change: Callable[[_Members], None]) -> None:
    # Raw: all other members stay unchanged.
    try:
        members = msgspec.json.decode(options.extra_json or "{}", type=_Members)
    except msgspec.DecodeError as error:
        violation = Violation("options.extra_json", "must be the text of a JSON object")
        raise InvalidRequestError("The request is not valid.", [violation]) from error
    change(members)
    options.extra_json = msgspec.json.encode(members).decode()


def _decoded(raw: msgspec.Raw) -> Any:  # noqa: ANN401 - any JSON value
    return msgspec.json.decode(raw)
