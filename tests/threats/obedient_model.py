"""A model that obeys every instruction that it reads, wherever it reads it."""

import json
import re
from collections.abc import Sequence
from typing import Any

from integration.functions.upstream import Body, Delta, calls, says

_ORDER = re.compile(r"\[\[(call|say) (.*?)\]\]", re.DOTALL)


def obey(body: Body) -> Sequence[Delta]:
    """Return the calls that the model has read of and not made, or else all that it must say."""
    messages = body["messages"]
    orders = [order for each in messages for order in _ORDER.findall(_text(each))]
    made = [_call(call) for each in messages for call in each.get("tool_calls") or ()]
    offered = bool(body.get("tools"))
    for kind, words in dict.fromkeys(orders):
        name, _, arguments = words.partition(" ")
        if kind == "call" and offered and (name, _plain(arguments)) not in made:
            return [calls(name, arguments, identifier=f"c{len(made)}")]
    texts = [words for kind, words in dict.fromkeys(orders) if kind == "say"]
    return [says(f"{text}\n\n") for text in ["As you wish.", *texts]]


def _text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _call(call: dict[str, Any]) -> tuple[str, Any]:
    return call["function"]["name"], _plain(call["function"]["arguments"])


def _plain(arguments: str) -> str:
    try:
        return json.dumps(json.loads(arguments or "{}"), sort_keys=True)
    except ValueError:
        return "{}"
