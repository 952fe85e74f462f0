"""The secrets that this process holds itself: the values of settings of type `SecretStr`."""

import json
import weakref
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from threading import Lock
from typing import Any
from urllib.parse import quote, quote_plus

import re2
from pydantic import BaseModel, SecretBytes, SecretStr

from heddle_runtime.redaction.scan import Groups, Rule, Span

MIN_CHARACTERS = 8
"""Shorter values are not searched for: they occur in texts by chance."""
_MIN_VARIETY = 3
_MIN_LINE = 16
_MIN_ENCODED = 12
_GROUP_SIZE = 64
_lock = Lock()
_groups: "list[_Group]" = []
_rules: tuple[Rule, ...] = ()
_released: "deque[set[str]]" = deque()
"""The values of holders that are garbage."""


class _Group:
    """Values in one pattern. Several patterns, so that a new value does not compile all again."""

    def __init__(self) -> None:
        self.holders: dict[str, int] = {}
        self.rule: Rule | None = None

    def compile(self) -> None:
        """Make the rule that finds the values."""
        forms = sorted({form for value in self.holders for form in _forms(value)}, key=len)
        pattern = "|".join(re2.escape(form) for form in reversed(forms))
        self.rule = Rule(pattern, _whole) if forms else None


def register_secrets(settings: BaseModel, holder: object = None) -> None:
    """Make `redact` remove the values of type `SecretStr` in `settings`.

    Args:
        settings: The settings.
        holder: The values are registered until this object is garbage; by default the settings.
    """
    values = set(_secrets(settings))
    # Settings for rotation hold several secrets, separated by commas.
    parts = {part.strip() for value in values for part in value.split(",")}
    register_values({*values, *parts}, holder or settings)


def register_values(values: Iterable[str], holder: object) -> None:
    """Make `redact` remove `values` until `holder` is garbage.

    Values of fewer than 8 characters or 3 different ones are left out. Forms in JSON, in URLs and
    in Base64 are removed as well, also Base64 of a longer text that contains the value.
    """
    if values := {value for value in values if is_distinct(value)}:
        with _lock:
            for value in values:
                _hold(value)
            _update()
        # Only noted, because the garbage collector may run while this thread has the lock.
        weakref.finalize(holder, _released.append, values).atexit = False


def known_secrets() -> tuple[Rule, ...]:
    """Return the rules that find the registered values: another tuple after each change."""
    if _released and _lock.acquire(blocking=False):
        try:
            while _released:
                _release(_released.popleft())
            _update()
        finally:
            _lock.release()
    return _rules


def is_distinct(value: str) -> bool:
    """Return whether a value is long and varied enough not to occur in texts by chance."""
    return len(value.strip()) >= MIN_CHARACTERS and len(set(value)) >= _MIN_VARIETY


def _hold(value: str) -> None:
    group = next((group for group in _groups if value in group.holders), None)
    if group is None:
        group = next((group for group in _groups if len(group.holders) < _GROUP_SIZE), None)
    if group is None:
        group = _Group()
        _groups.append(group)
    if value not in group.holders:
        group.rule = None
    group.holders[value] = group.holders.get(value, 0) + 1


def _release(values: Iterable[str]) -> None:
    for value in values:
        group = next(group for group in _groups if value in group.holders)
        group.holders[value] -= 1
        if not group.holders[value]:
            del group.holders[value]
            group.rule = None


def _update() -> None:
    global _rules  # noqa: PLW0603 - the secrets of the process
    for group in _groups:
        if group.rule is None:
            group.compile()
    _rules = tuple(group.rule for group in _groups if group.rule is not None)


def _secrets(value: Any) -> Iterator[str]:  # noqa: ANN401 - a setting
    """Yield the secrets in a setting, however deep."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case SecretBytes():
            yield value.get_secret_value().decode("utf-8", "replace")
        case BaseModel():
            for name in type(value).model_fields:
                yield from _secrets(getattr(value, name))
        case Mapping():
            for item in value.values():
                yield from _secrets(item)
        case list() | tuple() | set() | frozenset():
            for item in value:
                yield from _secrets(item)
        case _:
            return


def _forms(value: str) -> Iterator[str]:
    """Yield the forms in which a value occurs in texts."""
    for each in {value, value.strip(), *_long_lines(value)}:
        yield each
        yield (once := json.dumps(each)[1:-1])
        yield json.dumps(once)[1:-1]
        yield json.dumps(each, ensure_ascii=False)[1:-1]
        yield repr(each)[1:-1]
        yield quote(each)
        yield quote(each, safe="")
        yield quote_plus(each)
        for encoded in _encoded(each.encode("utf-8", "surrogatepass")):
            yield encoded
            yield encoded.translate(str.maketrans("+/", "-_"))


def _long_lines(value: str) -> Iterator[str]:
    """Yield the lines of a value such as a key file."""
    lines = value.splitlines()
    yield from (line.strip() for line in lines if len(lines) > 1 and len(line.strip()) >= _MIN_LINE)


def _encoded(value: bytes) -> Iterator[str]:
    """Yield Base64 of a value at each of the three places where it can begin in a longer text."""
    for before in range(3):
        encoded = b64encode(bytes(before) + value).decode()
        # The first and the last characters depend on the text around the value.
        first = (before * 4 + 2) // 3
        last = len(encoded) if encoded[-1] != "=" else len(encoded.rstrip("=")) - 1
        if last - first >= _MIN_ENCODED:
            yield encoded[first:last]


def _whole(_: str, groups: Groups) -> Span:
    return groups[0]
