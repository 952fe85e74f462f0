"""The description of assistants in `/openapi.json`; `heddle_conversion` reads and writes them."""

from typing import Annotated, Any, Literal

from google.protobuf.descriptor import FieldDescriptor
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_runtime.contract.limits import (
    MAX_OWNER_CHARACTERS,
    MAX_TOOL_ROUNDS,
    MAX_TOOL_SECONDS,
    MAX_TOOLS,
    MIN_TOOL_SECONDS,
)
from pydantic import ConfigDict, Field

from heddle_gateway.http.models import (
    MAX_EXACT_NUMBER,
    Fault,
    StrictModel,
    Text,
    Timestamp,
    adapter,
)
from heddle_gateway.openai.models import Capabilities

_Visible = Annotated[str, Field(pattern=r"\S")]
Setting = (
    str
    | bool
    | None
    | Annotated[float, Field(ge=-MAX_EXACT_NUMBER, le=MAX_EXACT_NUMBER)]
    | dict[str, Any]
    | list[Any]
)
_PLAIN_SCHEMAS: dict[int, dict[str, Any]] = {
    FieldDescriptor.TYPE_STRING: adapter(Text).json_schema(),
    FieldDescriptor.TYPE_BOOL: {"type": "boolean"},
}
_EXAMPLE: dict[str, Any] = {
    "name": "biology_tutor",
    "model": {"connector": "bypass", "model": "simple-bypass"},
    "tools": [{"type": "no_tool"}],
}
_OTHER_NAMES = {"extra_json"}
"""Fields of the contract that are members of another name."""
AssistantName = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$")]


class ModelReference(StrictModel):
    """A model of a connector."""

    connector: _Visible
    model: _Visible


class ToolBinding(StrictModel):
    """A tool of an assistant."""

    id: str | int | None = Field(
        default=None, description="Unique in the assistant; a number by default."
    )
    type: _Visible = Field(description="The tool's name.")
    mode: Literal["augment", "function", "agent"] | None = Field(
        default=None,
        description="`augment` (the default) runs before the model, `function` when the model "
        "calls it, `agent` when the routing agent selects it.",
    )
    enabled: bool | None = Field(default=None, description="True by default.")
    slot: (
        Annotated[
            str,
            Field(
                max_length=63,
                pattern="^([0-9_]*[A-Za-z][A-Za-z0-9_]*)?$",
                json_schema_extra={"not": {"const": "user_input"}},
            ),
        ]
        | None
    ) = Field(default=None, description="The tool's own slot by default.")
    config: dict[str, Setting] | None = Field(
        default=None, description="The settings that the tool's `config_schema` describes."
    )
    on_failure: Literal["note", "omit", "fail"] | None = Field(
        default=None, description="The content of the slot if the tool fails; `note` by default."
    )
    on_change: Literal["run", "ask", "never"] | None = Field(
        default=None,
        description="What happens when the model calls the tool and the call changes something: it "
        "runs, the user must confirm it, or it does not run. By default, calls that can destroy "
        "something must be confirmed. The `on_change` of the organisation counts if it is "
        "stricter.",
    )
    timeout: Annotated[float, Field(ge=MIN_TOOL_SECONDS, le=MAX_TOOL_SECONDS)] | None = Field(
        default=None, description="Seconds."
    )
    extra: dict[str, Any] | None = Field(default=None, description="Unknown members, preserved.")


class CapabilitiesBody(StrictModel):
    """What an assistant can do beside text."""

    vision: bool | None = None
    image_generation: bool | None = None


def _complete(schema: dict[str, Any]) -> None:
    """Add an example, and texts and flags of the contract that `AssistantBody` does not list."""
    schema["examples"] = [_EXAMPLE]
    members = schema["properties"]
    is_stored = "title" in schema["required"]
    for field in pb.Assistant.DESCRIPTOR.fields:
        if field.type in _PLAIN_SCHEMAS and field.name not in _OTHER_NAMES:
            value = _PLAIN_SCHEMAS[field.type]
            # In a request, null counts as absent.
            member = value if is_stored else {"anyOf": [value, {"type": "null"}]}
            members.setdefault(field.name, member)


class AssistantBody(StrictModel):
    """An assistant."""

    format_version: Literal[2] | None = Field(default=None, alias="_format_version")
    id: str | int | None = Field(default=None, description="If set, the identifier of the path.")
    name: AssistantName
    title: Text | None = None
    description: Text | None = None
    owner: Annotated[Text, Field(max_length=MAX_OWNER_CHARACTERS)] | None = Field(
        default=None,
        description="An e-mail address, by default the caller's. Another one needs an "
        "administrator.",
    )
    organization: str | None = None
    published: bool | None = None
    created: Any = None
    system_prompt: Text | None = None
    prompt_template: Text | None = Field(
        default=None,
        description="Replaces the last message: `{user_input}` is that message, `{<slot>}` the "
        "results of the tools with this slot.",
    )
    template_syntax: Literal["heddle", "lamb"] | None = Field(
        default=None,
        description="`heddle`, the default: every name in braces is a slot, and `{{name}}` is the "
        "text `{name}`. `lamb`, of imported assistants: only `{user_input}`, "
        "`{context}` and the slots of the tools are replaced, and all else is text.",
    )
    model: ModelReference
    tools: Annotated[list[ToolBinding], Field(max_length=MAX_TOOLS)] | None = None
    strategy: Text | None = None
    prompt_processor: Text | None = None
    capabilities: CapabilitiesBody | None = None
    verbose: bool | None = Field(default=None, description="Adds a trace to each completion.")
    cite_sources: bool | None = Field(
        default=None, description="Lists sources below the results of tools."
    )
    max_tool_rounds: Annotated[int, Field(ge=0, le=MAX_TOOL_ROUNDS)] | None = Field(
        default=None,
        description="How often the model may call functions before it must answer; with 0 the "
        "orchestrator decides.",
    )
    empty_response: Text | None = Field(
        default=None,
        description="The answer in place of the model's if the searches find nothing.",
    )
    extra: dict[str, Any] | None = Field(default=None, description="Unknown members, preserved.")
    warnings: Any = Field(default=None, description="Ignored.")
    malformed_metadata: Any = Field(default=None, description="Ignored.")
    read_only: Any = Field(default=None, description="Ignored.")

    model_config = ConfigDict(json_schema_extra=_complete)


class StoredAssistant(AssistantBody):
    """An assistant."""

    format_version: Literal[2] = Field(alias="_format_version")
    id: str
    title: str
    description: str
    name: str
    owner: str
    organization: str
    created: Timestamp
    system_prompt: str
    prompt_template: str
    tools: list[ToolBinding]
    strategy: str
    prompt_processor: str
    capabilities: Capabilities  # type: ignore[assignment] # always complete
    verbose: bool
    cite_sources: bool
    max_tool_rounds: int
    empty_response: str
    extra: dict[str, Any]
    warnings: list[Fault] = Field(
        description="Faults that the assistant had before and still has, and parts that could not "
        "be checked because a service cannot be reached: `not checked`."
    )
    malformed_metadata: str | None = Field(
        default=None,
        description="The stored text of an imported assistant, if it cannot be understood. `PUT` "
        "repairs the assistant.",
    )
    read_only: bool = Field(
        description="Whether it cannot be changed, because it comes from a file of the operator."
    )
