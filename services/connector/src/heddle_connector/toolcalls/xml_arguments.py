"""Arguments as elements that are named after them and may nest."""

import re
from collections.abc import Mapping
from typing import Any

from heddle_connector.toolcalls.brackets import DEEPEST
from heddle_connector.toolcalls.coercion import coerce
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.names import LONGEST_NAME, WIDE
from heddle_connector.toolcalls.parse_context import Attempt
from heddle_connector.toolcalls.scanners import Scan, literal, until, within

_MARK = "]<]minimax[>["
_NEXT = re.compile(re.escape(_MARK))
_ITEM = "item"


class _Element:
    """An element that is being read."""

    __slots__ = ("children", "name", "schema", "text")

    def __init__(self, name: str, schema: Mapping[str, Any]) -> None:
        self.name = name
        self.schema = schema
        self.text: list[str] = []
        self.children: list[tuple[str, Any]] = []

    def child(self, name: str) -> Mapping[str, Any]:
        """Return the schema of a child."""
        properties = self.schema.get("properties")
        found = properties.get(name) if isinstance(properties, Mapping) else None
        found = found if found is not None else self.schema.get("items")
        return found if isinstance(found, Mapping) else {}

    def value(self, root: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
        """Return what the element means: an array, an object, or what its text means."""
        if not self.children:
            return coerce("".join(self.text), self.schema, root)
        if self.schema.get("type") == "array" or all(name == _ITEM for name, _ in self.children):
            return [value for _, value in self.children]
        return dict(self.children)


def elements(attempt: Attempt, called: str) -> Scan[bool]:
    """Read elements up to the end of the call, and tell of the call of the function `called`."""
    source = attempt.source
    root = attempt.functions.schema(called)
    stack = [_Element("invoke", root)]
    while True:
        text, mark = yield from until(source, _NEXT, len(_MARK))
        stack[-1].text.append(text)
        if mark is None or (yield from literal(source, ("<",))) is None:
            return False
        attempt.committed = True
        closes = (yield from literal(source, ("/",))) is not None
        name = yield from within(source, WIDE, LONGEST_NAME)
        if (yield from literal(source, (">",))) is None:
            return False
        if not closes:
            if len(stack) > DEEPEST:
                return False
            stack.append(_Element(name, stack[-1].child(name)))
            continue
        element = stack.pop()
        if element.name != name:
            return False
        if not stack:
            attempt.found(CallRead(called, dict(element.children)))
            return True
        stack[-1].children.append((name, element.value(root)))
