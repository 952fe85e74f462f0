"""Metadata of version 2 with its row as the contract, and back.

What the contract cannot hold exactly, members that it does not model and values of the wrong
kind, travels in `extra_json`, of a binding or of the assistant. On the way back that text counts
wherever it still says what the contract says, so that nobody who changes one member loses another.
Two things come back otherwise than they were: what `_ALWAYS` names is written out even if it was
left to its default.
"""

from dataclasses import dataclass, fields
from typing import Any, Self

from google.protobuf.descriptor import FieldDescriptor
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.contract.limits import MAX_TOOL_ROUNDS

from heddle_conversion import contract_tools
from heddle_conversion.bindings import normal
from heddle_conversion.contract_tools import text
from heddle_conversion.identifiers import timestamp
from heddle_conversion.json_text import dump, parse, same
from heddle_conversion.processors import current_connector
from heddle_conversion.unmapped_fields import set_aside
from heddle_conversion.versions import VERSION_KEY

CONNECTOR = "openai"
MODEL = "gpt-4"
PROMPT_PROCESSOR = "simple_augment"
_VERSION = 2
_ALWAYS = (VERSION_KEY, "connector", "llm", "prompt_processor", "tools")
# Names of the same thing: a default that was never there, and the one of its branch for many
# tools, whose slots every template has here.
_PROMPT_PROCESSORS = {"default", "default_processor", "multi_augment"}
_SYNTAXES = {"heddle": pb.TEMPLATE_SYNTAX_HEDDLE, "lamb": pb.TEMPLATE_SYNTAX_LAMB}
_SYNTAX_NAMES = {number: name for name, number in _SYNTAXES.items()}
_COLUMNS = {
    *("id", "name", "description", "owner", "organization", "system_prompt", "prompt_template"),
    *("create_time", "extra_json"),
}
_CONVERTED = {
    *("model", "tools", "strategy", "prompt_processor", "capabilities", "max_tool_rounds"),
    "template_syntax",
}
_TEXTS, _FLAGS, _LISTS = (
    tuple(
        field.name
        for field in pb.Assistant.DESCRIPTOR.fields
        if (field.type, field.is_repeated) == kind and field.name not in _COLUMNS | _CONVERTED
    )
    for kind in (
        (FieldDescriptor.TYPE_STRING, False),
        (FieldDescriptor.TYPE_BOOL, False),
        (FieldDescriptor.TYPE_STRING, True),
    )
)
"""Fields that the metadata stores under their own names: a new one of these kinds needs no code."""


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """The values of the assistant's row beside the metadata."""

    id: int | str
    name: str | None = None
    description: str | None = None
    owner: str | None = None
    organization: str | int | None = None
    system_prompt: str | None = None
    prompt_template: str | None = None
    created_at: int | None = None
    """Seconds since 1970."""

    @classmethod
    def of(cls, row: object) -> Self:
        """Return the columns of a row that has members of these names."""
        return cls(*(getattr(row, each.name) for each in fields(cls)))


def connector_of(metadata: dict[str, Any]) -> str:
    """Return the present name of the connector in a document of any version."""
    return current_connector(text_or_default(metadata, "connector", CONNECTOR))


def to_contract(metadata: dict[str, Any], row: StoredColumns) -> pb.Assistant:
    """Return the assistant that a document of version 2 and its row describe. Never fails."""
    assistant = _assistant(metadata)
    assistant.id = text(str(row.id))
    assistant.name = text(row.name)
    assistant.description = text(row.description)
    assistant.owner = text(row.owner)
    assistant.organization = "" if row.organization is None else text(str(row.organization))
    assistant.system_prompt = text(row.system_prompt)
    assistant.prompt_template = text(row.prompt_template)
    if created := timestamp(row.created_at):
        assistant.create_time.CopyFrom(created)
    if extra := _unmodelled(metadata, _members(assistant)):
        assistant.extra_json = dump(extra)
    return assistant


def from_contract(assistant: pb.Assistant) -> dict[str, Any]:
    """Return the metadata of an assistant, a document of version 2.

    Raises:
        MalformedMetadataError: `extra_json` is not the text of an object.
    """
    metadata = parse(assistant.extra_json)
    before, now = _members(_assistant(metadata)), _members(assistant)
    changed = {
        key: value
        for key, value in now.items()
        if not same(value, before[key]) or (key in _ALWAYS and key not in metadata)
    }
    if "tools" in changed:
        old = normal(metadata.get("tools"))
        set_aside(metadata, old.unmapped)
        changed["tools"] = contract_tools.merged(old.bindings, before["tools"], now["tools"])
    known = metadata.get("capabilities")
    if "capabilities" in changed and isinstance(known, dict):
        changed["capabilities"] = known | changed["capabilities"]
    return metadata | changed


def _unmodelled(metadata: dict[str, Any], members: dict[str, Any]) -> dict[str, Any]:
    """Return the part of `metadata` that `members` alone would not bring back."""
    extra = {
        key: value
        for key, value in metadata.items()
        if key not in members or not same(value, members[key])
    }
    # A default that the author wrote out would come back as one that is left out.
    defaults = _members(_assistant(extra))
    written = (key for key in members if key in metadata and key not in _ALWAYS)
    return extra | {key: metadata[key] for key in written if same(defaults[key], members[key])}


def _assistant(metadata: dict[str, Any]) -> pb.Assistant:
    """Return the fields of the contract, with defaults for missing or invalid members."""
    capabilities = metadata.get("capabilities")
    able = capabilities if isinstance(capabilities, dict) else {}
    processor = text_or_default(metadata, "prompt_processor", PROMPT_PROCESSOR)
    plain: dict[str, Any] = {name: text(metadata.get(name)) for name in _TEXTS}
    plain |= {name: metadata.get(name) is True for name in _FLAGS}
    plain |= {name: texts(metadata.get(name)) for name in _LISTS}
    return pb.Assistant(
        **plain,
        model=pb.ModelRef(
            connector=connector_of(metadata),
            model=text_or_default(metadata, "llm", MODEL),
        ),
        tools=contract_tools.to_contract(metadata.get("tools")),
        strategy=_strategy(metadata),
        prompt_processor=PROMPT_PROCESSOR if processor in _PROMPT_PROCESSORS else processor,
        capabilities=pb.Capabilities(
            vision=able.get("vision") is True,
            image_generation=able.get("image_generation") is True,
        ),
        max_tool_rounds=_rounds(metadata.get("max_tool_rounds")),
        template_syntax=_SYNTAXES.get(
            text(metadata.get("template_syntax")), pb.TEMPLATE_SYNTAX_UNSPECIFIED
        ),
    )


def _members(assistant: pb.Assistant) -> dict[str, Any]:
    """Return the members of metadata that the typed fields hold."""
    return {
        VERSION_KEY: _VERSION,
        **{name: getattr(assistant, name) for name in (*_TEXTS, *_FLAGS)},
        **{name: list(getattr(assistant, name)) for name in _LISTS},
        "connector": assistant.model.connector,
        "llm": assistant.model.model,
        "tools": contract_tools.from_contract(assistant.tools),
        "orchestrator": assistant.strategy,
        "prompt_processor": assistant.prompt_processor,
        "capabilities": {
            "vision": assistant.capabilities.vision,
            "image_generation": assistant.capabilities.image_generation,
        },
        "max_tool_rounds": assistant.max_tool_rounds,
        "template_syntax": _SYNTAX_NAMES.get(assistant.template_syntax, ""),
    }


def _rounds(value: object) -> int:
    """Return a number of rounds that an assistant can have; 0 leaves it to the service."""
    number = value if isinstance(value, int) and not isinstance(value, bool) else 0
    return number if 0 < number <= MAX_TOOL_ROUNDS else 0


def texts(value: object) -> list[str]:
    """Return the texts of a list; others are left out."""
    return [each for each in map(text, value) if each] if isinstance(value, list) else []


def text_or_default(metadata: dict[str, Any], key: str, default: str) -> str:
    """Return the text of a member, or `default` if it says nothing."""
    return text(metadata.get(key)).strip() or default


def _strategy(metadata: dict[str, Any]) -> str:
    # The oldest form of many tools ran them one by one unless told otherwise.
    many = metadata.get("assistant_type") == "multi_tool"
    return text_or_default(metadata, "orchestrator", "sequential" if many else "")
