"""Changes the options `tool_choice` and `parallel_tool_calls` between the rounds of a run."""

from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
from heddle.chat.v1 import chat_pb2
from heddle_runtime.contract.openai_messages import decode_members
from heddle_runtime.errors import InvalidRequestError, Violation

_CHOICE, _PARALLEL = "tool_choice", "parallel_tool_calls"
_FREE = ("auto", "none")
_AUTO = msgspec.Raw(b'"auto"')


def begin(options: chat_pb2.GenerationOptions) -> None:
    """Set `tool_choice` to `auto` for the first round, unless the client set it.

    Raises:
        InvalidRequestError: The client's options are not a JSON object.
    """
    with _editing(options) as members:
        members.setdefault(_CHOICE, _AUTO)


def go_on(options: chat_pb2.GenerationOptions) -> None:
    """Allow an answer in later rounds, even if the client required a call."""
    with _editing(options) as members:
        if msgspec.json.decode(members[_CHOICE]) not in _FREE:
            members[_CHOICE] = _AUTO


def end(options: chat_pb2.GenerationOptions) -> None:
    """Remove both options: providers reject them in requests without functions."""
    with _editing(options) as members:
        members.pop(_CHOICE, None)
        members.pop(_PARALLEL, None)


@contextmanager
def _editing(options: chat_pb2.GenerationOptions) -> Iterator[dict[str, msgspec.Raw]]:
    """Yield the members of the client's options, and store them at the end of the block."""
    # Raw: all other members stay unchanged.
    try:
        members = decode_members(options.extra_json or "{}")
    except msgspec.DecodeError as error:
        violation = Violation("options.extra_json", "must be the text of a JSON object")
        raise InvalidRequestError("The request is not valid.", [violation]) from error
    yield members
    options.extra_json = msgspec.json.encode(members).decode()
