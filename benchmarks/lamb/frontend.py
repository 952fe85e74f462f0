"""The routes that the pages of LAMB's frontend call, found in a checkout of LAMB."""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

SOURCES = "frontend/svelte-app/src"
_ENDINGS = {".js", ".svelte", ".ts"}
_METHODS = {"get", "post", "put", "patch", "delete"}
_PARAMETER = re.compile(r"\{[^}]+\}")
_OF_TEMPLATES = r"\$\{[^}]+(?:\}\))?\}"


def source_text(folder: Path) -> str:
    """Return all sources of the frontend but its tests."""
    files = sorted(
        each
        for each in (folder / SOURCES).rglob("*")
        if each.suffix in _ENDINGS and not re.search(r"\.(test|spec)\.\w+$", each.name)
    )
    return "\n".join(each.read_text(errors="replace") for each in files)


def called(openapi: Mapping[str, Any], sources: str) -> Iterator[tuple[str, str]]:
    """Yield the method and path of each route of LAMB's contract that the sources mention."""
    for path, operations in sorted(openapi["paths"].items()):
        if _mention(path).search(sources):
            yield from ((each.upper(), path) for each in operations if each in _METHODS)


def _mention(path: str) -> re.Pattern[str]:
    """Return what finds a path in a template of JavaScript, without the part before `/creator`."""
    parts = _PARAMETER.split(path.removeprefix("/creator"))
    first, *rest = parts
    escaped = [re.escape(first.lstrip("/")), *map(re.escape, rest)]
    return re.compile(r"[`'\"/]" + _OF_TEMPLATES.join(escaped) + r"(?=[`'\"?$])")


def filled(path: str, values: Mapping[str, str], *, exists: bool) -> str:
    """Return a path with values for its parameters; of nothing if `exists` is false."""

    def value(match: re.Match[str]) -> str:
        return values.get(match[0].strip("{}"), "1") if exists else "999999"

    return _PARAMETER.sub(value, path)


def members_read(body: object, sources: str) -> set[str]:
    """Return the members with values in a JSON body whose names the sources mention."""
    return {each for each in _names(body) if re.search(rf"\b{re.escape(each)}\b", sources)}


def _names(body: object) -> Iterator[str]:
    if isinstance(body, dict):
        for name, value in body.items():
            if value is not None and not re.fullmatch(r"\d+", name):
                yield name
            yield from _names(value)
    elif isinstance(body, list):
        for each in _first(body):
            yield from _names(each)


def _first(items: Iterable[Any]) -> Iterator[Any]:
    yield from (item for item, _ in zip(items, range(5), strict=False))
