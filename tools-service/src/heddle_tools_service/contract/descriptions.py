"""Describes tools and their functions in the messages of the contract."""

import json
from collections.abc import Iterable
from typing import get_args

from heddle.assistant.v1 import assistant_pb2
from heddle.chat.v1 import chat_pb2
from heddle.tool.v1 import tool_pb2 as pb

from heddle_tools_service.contract.translations import builtin_translations, translated
from heddle_tools_service.sdk import Effect, Function, FunctionOffer, HeldBackFunction, Mode, Tool

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
