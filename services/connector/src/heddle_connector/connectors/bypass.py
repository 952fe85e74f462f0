"""Answers without a model: shows the prompt that a model would receive."""

import math
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from heddle_connector.sdk import (
    Call,
    Connector,
    Done,
    Event,
    Example,
    Model,
    NoSettings,
    NotFoundError,
    TextDelta,
    Usage,
    completion_body,
    connector,
)

MAX_PIECES = 32
_MIN_PIECE_LENGTH = 16


_EXAMPLE = Example(model="simple-bypass", answer="Say hello.")


@connector(
    "bypass",
    example=_EXAMPLE,
    for_all_organizations=True,
    calls_functions=False,
    uses_model=False,
)
class Bypass(Connector[NoSettings]):
    """Shows the finished prompt instead of calling a model; costs no tokens."""

    @property
    def only_models(self) -> Sequence[str]:
        """The names of the three views of a prompt."""
        return list(_VIEWS)

    async def models(self, seconds: float) -> Sequence[Model]:
        """Return the three views of a prompt."""
        return [Model(name) for name in _VIEWS]

    async def generate(self, call: Call) -> AsyncGenerator[Sequence[Event], None]:
        """Yield the text in pieces, so that streaming can be observed."""
        view = _VIEWS.get(call.model)
        if view is None:
            raise NotFoundError(
                f"The bypass connector has no model {call.model!r}, only {', '.join(_VIEWS)}.",
                model=call.model,
            )
        text = view(call)
        for piece in [text] if call.whole else _pieces(text):
            yield [TextDelta(piece, literal=True)]
        yield [Done("stop", Usage(), call.model)]


def _request(call: Call) -> str:
    """Return the request that a provider would receive, as indented JSON."""
    body = msgspec.json.encode(completion_body(call, stream=not call.whole))
    return msgspec.json.format(body, indent=2).decode()


def _last_message(call: Call) -> str:
    return _text(call.messages[-1]["content"])


def _conversation(call: Call) -> str:
    return "\n".join(f"{turn['role']}: {_text(turn['content'])}" for turn in call.messages)


_VIEWS: dict[str, Callable[[Call], str]] = {
    "debug-bypass": _request,
    "simple-bypass": _last_message,
    "full-conversation-bypass": _conversation,
}


def _text(content: Any) -> str:  # noqa: ANN401 - text, parts, or nothing
    if isinstance(content, str):
        return content
    return "".join(_shown(part) for part in content or ())


def _shown(part: Any) -> str:  # noqa: ANN401 - a part, or JSON text of a kind unknown to us
    if isinstance(part, msgspec.Raw):
        return "[unknown]"
    return part["text"] if part["type"] == "text" else f"[{part['type']}]"


def _pieces(text: str) -> list[str]:
    """Cut `text` into at most 32 pieces. Between characters, so that nothing is lost."""
    size = max(_MIN_PIECE_LENGTH, math.ceil(len(text) / MAX_PIECES))
    return [text[start : start + size] for start in range(0, len(text), size)]
