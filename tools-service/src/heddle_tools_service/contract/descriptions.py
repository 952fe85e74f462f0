"""Describes tools and their functions in the messages of the contract."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, get_args

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb

from heddle_tools_service.sdk import Effect, Function, FunctionOffer, HeldBackFunction, Mode, Tool
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


MODES: dict[Mode, assistant_pb2.Mode.ValueType] = {
    "augment": assistant_pb2.MODE_AUGMENT,
    "function": assistant_pb2.MODE_FUNCTION,
    "agent": assistant_pb2.MODE_AGENT,
}
EFFECTS: dict[Effect, pb.ToolEffect.ValueType] = {
    name: pb.ToolEffect.Value(f"TOOL_EFFECT_{name.upper()}") for name in get_args(Effect)
}


def description(tool: Tool, origin: str) -> pb.Tool:
    """Return a tool as clients see it."""
    label = tool.label or tool.title
    texts = {"title": tool.title, "description": tool.description, "label": label}
    known = builtin_translations() if origin == "builtin" else {}
    translations = tool.translations or known
    schema = translated(tool.schema, texts, translations)
    return pb.Tool(
        name=tool.name,
        title=tool.title,
        label=label,
        description=tool.description,
        default_slot=tool.slot,
        config_schema_json=json.dumps(schema, ensure_ascii=False),
        version=tool.version,
        category=tool.category,
        modes=[MODES[mode] for mode in tool.modes],
        origin=origin,
        functions=[declaration(tool.function)] if tool.function else (),
        end=tool.end,
        examples=examples_of(tool),
        isolation=pb.TOOL_ISOLATION_SERVICE,
        effect=EFFECTS[tool.effect or ("read_only" if origin == "builtin" else "destructive")],
    )


def declaration(function: Function | HeldBackFunction) -> chat_pb2.FunctionDeclaration:
    """Return the declaration of a function for models."""
    return chat_pb2.FunctionDeclaration(
        name=function.name,
        description=function.description,
        parameters_schema_json=json.dumps(function.schema, ensure_ascii=False),
    )


def offered_functions(identifier: str, offer: FunctionOffer) -> pb.ToolFunctions:
    """Return the functions that a tool offers under a configuration, as the contract's message."""
    return pb.ToolFunctions(
        id=identifier,
        functions=map(declaration, offer.functions),
        effects=[EFFECTS[each.effect or "destructive"] for each in offer.functions],
        held_back=[
            pb.HeldBackFunction(declaration=declaration(each), pin=each.pin, reason=each.reason)
            for each in offer.held_back
        ],
    )


def examples_of(tool: Tool) -> Iterable[pb.ToolExample]:
    """Return a tool's examples as messages of the contract."""
    return [
        pb.ToolExample(
            request=each.request,
            arguments_json=json.dumps(dict(each.arguments), ensure_ascii=False),
        )
        for each in tool.examples
    ]
