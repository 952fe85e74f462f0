"""Parses arguments with a tag for each. The difficult part is to find the end of a value.

Values are raw text that may contain the tags of the format. A tag ends a value if valid syntax
follows the tag. A missing end tag is accepted if the next tag is placed as between arguments, and
not as in a sentence.
"""

from collections.abc import Mapping
from typing import Any

from heddle_connector.toolcalls.coercion import coerce, json_or_text
from heddle_connector.toolcalls.events import CallRead
from heddle_connector.toolcalls.formats import ArgumentTags, Format
from heddle_connector.toolcalls.functions import Functions
from heddle_connector.toolcalls.names import MAX_NAME_LENGTH, WIDE, attributes
from heddle_connector.toolcalls.parse_context import ParseContext
from heddle_connector.toolcalls.scanners import Scan, blank, literal, space, until, within
from heddle_connector.toolcalls.source import Source
from heddle_connector.toolcalls.stop_strings import StopStrings

_CDATA = ("<![CDATA[", "]]>")


class TaggedArgumentsParser:
    """Parses the arguments of one format."""

    def __init__(self, format_: Format, opener: str) -> None:
        tags = format_.tags
        if tags is None:
            raise ValueError(
                f"The format {format_.name!r} has neither tags nor a last placeholder."
            )
        self._format = format_
        self._tags: ArgumentTags = tags
        self._opener = opener
        self._stop_strings = StopStrings((tags.end, tags.open, opener, *format_.ends))
        self._after_value = (tags.open, *format_.ends)
        around = (*format_.closers, *format_.delimiters)
        begins = (delimiter.replace("/", "", 1) for delimiter in format_.closers)
        self._after_end = tuple(dict.fromkeys((*around, *begins, opener)))
        self._bare_keys = tags.open.endswith(("=", ">"))

    def read(self, context: ParseContext, called: str, tag: Mapping[str, str]) -> Scan[bool]:
        """Read arguments up to the end of the call, and emit the call.

        Returns:
            Whether there was a complete call.
        """
        arguments: dict[str, Any] = {}
        source = context.source
        ended = "/" in tag
        key: str | None = None  # of an argument whose start was read with the previous value
        while not ended:
            if key is None:
                yield from space(source)
                matched = yield from literal(source, self._after_value)
                if matched is None:
                    return False
                if matched != self._tags.open:
                    break
                context.committed = True
            tag = {}
            if key is None and self._bare_keys:
                key = (yield from within(source, WIDE, MAX_NAME_LENGTH)).strip()
            elif key is None:
                tag = yield from attributes(source)
                key = tag.get("name", tag.get("key"))
            if not key or not (yield from self._before_value(source, tag)):
                return False
            text, ended, following = yield from self._value(context, called, {key, *arguments})
            if text is None:
                return False
            arguments[key] = self._meaning(text, tag, context.functions, called, key)
            key = following
        context.emit(CallRead(called, arguments))
        return True

    def _before_value(self, source: Source, tag: dict[str, str]) -> Scan[bool]:
        """Consume the text between the key and the value; add the type, if any, to `tag`."""
        tags = self._tags
        if (yield from literal(source, (tags.key_end,))) is None:
            return False
        if not tags.value:
            return True
        begin, end = tags.type
        yield from space(source)
        matched = yield from literal(source, (tags.value, begin) if begin else (tags.value,))
        if matched == begin:
            tag["type"] = (yield from within(source, WIDE, MAX_NAME_LENGTH)).strip()
            if (yield from literal(source, (end,))) is None:
                return False
            yield from space(source)
            matched = yield from literal(source, (tags.value,))
        return matched == tags.value

    def _value(
        self, context: ParseContext, called: str, earlier_keys: set[str]
    ) -> Scan[tuple[str | None, bool, str | None]]:
        """Take a value.

        Returns:
            The value, None at the end of the message; whether the call ended with it; the key of
            the next pair, if that was read because the end tag was missing.
        """
        source = context.source
        value = _Value()
        while True:
            text, stop = yield from until(source, self._stop_strings)
            value.parts.append(text)
            if stop is None:
                return None, False, None
            if stop == self._tags.open:
                key = yield from self._next_key(context, value, called, earlier_keys)
                if key is not None:
                    return value.text(), False, key
            elif stop == self._opener:
                head = yield from self._head(source)
                value.parts += [stop, head]
                value.inner += yield from self._follows(source, self._after_value)
            elif (yield from self._ends(source, value, stop)):
                return value.text(), stop != self._tags.end, None

    def _next_key(
        self, context: ParseContext, value: "_Value", called: str, earlier_keys: set[str]
    ) -> Scan[str | None]:
        """Return the key of the next pair, if one begins here although the value has no end tag."""
        source = context.source
        if not self._bare_keys or value.inner or not value.is_beside():
            value.parts.append(self._tags.open)
            return None
        key = yield from within(source, WIDE, MAX_NAME_LENGTH)
        closed = yield from self._follows(source, (self._tags.key_end,))
        if closed and self._expected(context, called, key.strip(), earlier_keys):
            return key.strip()
        value.parts += [self._tags.open, key]
        return None

    def _ends(self, source: Source, value: "_Value", stop: str) -> Scan[bool]:
        """Return whether the end tag `stop` ends the value; otherwise add it to the value."""
        between = yield from blank(source)
        ends = False
        if stop == self._tags.end:
            ends = not value.inner and (yield from self._follows(source, self._after_value))
        elif value.inner:
            value.inner -= 1
        elif value.is_beside():
            ends = yield from self._call_ends(source)
        if not ends:
            value.parts += [stop, between]
        return ends

    def _call_ends(self, source: Source) -> Scan[bool]:
        """Return whether the text after the end of a call, or the end of the text, is next."""
        follows = yield from self._follows(source, self._after_end)
        return follows or source.position == len(source.text)

    @staticmethod
    def _head(source: Source) -> Scan[str]:
        """Consume text inside of a value that may be the rest of the head of a call."""
        head = yield from within(source, WIDE, MAX_NAME_LENGTH)
        end = yield from literal(source, (">", "<|sep|>"))
        return head + (end or "") + (yield from blank(source))

    @staticmethod
    def _follows(source: Source, options: tuple[str, ...]) -> Scan[bool]:
        """Return whether one of the strings is next. Consume nothing."""
        matched = yield from literal(source, options)
        source.position -= len(matched or "")
        return matched is not None

    @staticmethod
    def _expected(context: ParseContext, called: str, key: str, earlier_keys: set[str]) -> bool:
        properties = context.functions.properties(called)
        return key not in earlier_keys and (not properties or key in properties)

    def _meaning(
        self, text: str, tag: Mapping[str, str], functions: Functions, called: str, key: str
    ) -> Any:  # noqa: ANN401 - any JSON value
        """Return the text of a value as the JSON value that its tag or its schema describes."""
        start, end = _CDATA
        if text.lstrip().startswith(start) and text.rstrip().endswith(end):
            text = text.strip()[len(start) : -len(end)].replace("]]]]><![CDATA[>", end)
            return coerce(text, functions.properties(called).get(key), functions.schema(called))
        if self._format.trim:
            text = text.removeprefix("\r\n") if text[:1] == "\r" else text.removeprefix("\n")
            text = text.removesuffix("\n").removesuffix("\r") if text[-1:] == "\n" else text
        if "string" in tag:
            return text if tag["string"].lower() == "true" else json_or_text(text)
        if "type" in tag:
            return coerce(text, {"type": tag["type"]}, {})
        schema = functions.properties(called).get(key)
        if self._format.decode and not schema:
            return json_or_text(text)
        return coerce(text, schema, functions.schema(called))


class _Value:
    """The text of a value that is being read."""

    __slots__ = ("inner", "parts")

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.inner = 0
        """Calls that are written inside of it and have not ended."""

    def text(self) -> str:
        return "".join(self.parts)

    def is_beside(self) -> bool:
        """Return whether a tag after this text is in its usual place: after a line end or a value.

        After a value that begins with a line end, tags are on lines of their own.
        """
        first = next((part for part in self.parts if part), "")
        last = next((part for part in reversed(self.parts) if part), "\n")
        return last[-1] == "\n" or (first[:1] != "\n" and not last[-1].isspace())
