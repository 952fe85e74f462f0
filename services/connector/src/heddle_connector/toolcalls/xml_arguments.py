"""Arguments as elements that are named after them and may nest."""

from collections.abc import Mapping
from typing import Any

from heddle_connector.toolcalls.brackets import MAX_DEPTH
from heddle_connector.toolcalls.coercion import coerce
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH, WIDE
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, literal, until, within
from heddle_connector.toolcalls.stop_strings import StopStrings

_MARK = "]<]minimax[>["
_NEXT = StopStrings((_MARK,))
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
        matched = properties.get(name) if isinstance(properties, Mapping) else None
        matched = matched if matched is not None else self.schema.get("items")
        return matched if isinstance(matched, Mapping) else {}

    def value(self, root: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
        """Return the element as a JSON value: a list, an object, or its text as its schema says."""
        if not self.children:
            return coerce("".join(self.text), self.schema, root)
        if self.schema.get("type") == "array" or all(name == _ITEM for name, _ in self.children):
            return [value for _, value in self.children]
        return dict(self.children)


def elements(context: ParseContext, called: str) -> Scan[bool]:
    """Read elements up to the end of the call, and emit the call of the function `called`."""
    source = context.source
    root = context.functions.schema(called)
    stack = [_Element("invoke", root)]
    while True:
        text, delimiter = yield from until(source, _NEXT)
        stack[-1].text.append(text)
        if delimiter is None or (yield from literal(source, ("<",))) is None:
            return False
        context.committed = True
        closes = (yield from literal(source, ("/",))) is not None
        name = yield from within(source, WIDE, MAX_NAME_LENGTH)
        if (yield from literal(source, (">",))) is None:
            return False
        if not closes:
            if len(stack) > MAX_DEPTH:
                return False
            stack.append(_Element(name, stack[-1].child(name)))
            continue
        element = stack.pop()
        if element.name != name:
            return False
        if not stack:
            context.emit(CallRead(called, dict(element.children)))
            return True
        stack[-1].children.append((name, element.value(root)))
