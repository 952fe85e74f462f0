"""Adds translations of titles and descriptions to the schema of a tool's configuration."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from heddle_tools_service.sdk.definition import Translations

KEYWORD = "x-heddle-i18n"
_TEXTS = ("title", "description")
_PACKAGE = "heddle_tools_service.tools"


@cache
def builtin_translations() -> Translations:
    """Return the translations of Heddle's own tools."""
    folder = files(_PACKAGE) / "translations"
    return {
        file.name.removesuffix(".json"): json.loads(file.read_text(encoding="utf-8"))
        for file in sorted(folder.iterdir(), key=lambda each: each.name)
        if file.name.endswith(".json")
    }


def translated(
    schema: Mapping[str, Any], texts: Mapping[str, str], translations: Translations
) -> dict[str, Any]:
    """Return the schema of a configuration with translations.

    Args:
        schema: The schema, without them. It is not changed.
        texts: The texts of the tool itself, by `title`, `description` and `label`: their
            translations are those of the schema as a whole.
        translations: By language, the translation of each English text.
    """
    complete = _with_options(schema, translations)
    if known := _known(texts, translations):
        complete[KEYWORD] = known
    return complete


def _with_options(schema: Mapping[str, Any], translations: Translations) -> dict[str, Any]:
    complete = dict(schema)
    for name in ("properties", "$defs"):
        if isinstance(inner := schema.get(name), Mapping):
            complete[name] = {key: _option(each, translations) for key, each in inner.items()}
    if "items" in schema:
        complete["items"] = _option(schema["items"], translations)
    return complete


def _option(schema: Any, translations: Translations) -> Any:  # noqa: ANN401 - a schema, or a boolean
    if not isinstance(schema, Mapping):
        return schema
    complete = _with_options(schema, translations)
    texts = {name: schema[name] for name in _TEXTS if isinstance(schema.get(name), str)}
    if known := _known(texts, translations):
        complete.setdefault(KEYWORD, known)
    return complete


def _known(texts: Mapping[str, str], translations: Translations) -> dict[str, dict[str, str]]:
    by_language = {
        language: {name: known[text] for name, text in texts.items() if text in known}
        for language, known in translations.items()
    }
    return {language: known for language, known in by_language.items() if known}
