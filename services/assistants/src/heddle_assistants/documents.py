"""The written form of an assistant (`_format_version` 2), and its form in the contract."""

from typing import Any, Literal

from google.protobuf.timestamp_pb2 import Timestamp
from heddle.assistant.v1 import assistant_pb2 as pb
from heddle_conversion.bindings import fillable
from heddle_conversion.contract import MOST_ROUNDS
from heddle_runtime.struct_codec import to_struct
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from heddle_assistants.field_checks import NAME

_MODES = {
    "augment": pb.MODE_AUGMENT,
    "function": pb.MODE_FUNCTION,
    "agent": pb.MODE_AGENT,
}
_POLICIES = {
    "note": pb.FAILURE_POLICY_NOTE,
    "omit": pb.FAILURE_POLICY_OMIT,
    "fail": pb.FAILURE_POLICY_FAIL,
}


class Document(BaseModel):
    """Base: a misspelt member is an error, not a setting that does nothing."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class ModelDocument(Document):
    """A model at a connector."""

    connector: str = Field(min_length=1)
    model: str = Field(min_length=1)


class CapabilitiesDocument(Document):
    """What the assistant can do besides text."""

    vision: bool = False
    image_generation: bool = False


class BindingDocument(Document):
    """A tool with the configuration that the assistant gives it."""

    type: str = Field(min_length=1)
    id: str = ""
    mode: Literal["augment", "function", "agent"] = "augment"
    enabled: bool = True
    slot: str = ""
    config: dict[str, Any] = Field(default_factory=dict)
    on_failure: Literal["note", "omit", "fail"] = "note"
    timeout: float | None = Field(default=None, gt=0)
    """Seconds."""

    @field_validator("slot")
    @classmethod
    def _refuse_what_no_template_names(cls, slot: str) -> str:
        if slot and not fillable(slot):
            raise ValueError("at most 63 letters, digits and _, with a letter, not user_input")
        return slot


class AssistantDocument(Document):
    """One assistant."""

    format_version: Literal[2] = Field(default=2, alias="_format_version")
    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$")
    name: str = Field(pattern=rf"^{NAME}$")
    title: str = ""
    description: str = ""
    owner: str = ""
    organization: str = ""
    published: bool = True
    created: int = Field(default=0, ge=0)
    """Seconds since 1970."""
    system_prompt: str = ""
    prompt_template: str = ""
    model: ModelDocument
    tools: list[BindingDocument] = Field(default_factory=list, max_length=64)
    strategy: str = ""
    prompt_processor: str = ""
    capabilities: CapabilitiesDocument = CapabilitiesDocument()
    verbose: bool = False
    cite_sources: bool = False
    max_tool_rounds: int = Field(default=0, ge=0, le=MOST_ROUNDS)
    """How often the model may call functions before it must answer; 0: the orchestrator knows."""

    @model_validator(mode="after")
    def _refuse_equal_ids(self) -> "AssistantDocument":
        ids = [binding.id for binding in self.tools if binding.id]
        if len(ids) != len(set(ids)):
            raise ValueError("two tools have the same id")
        return self

    def contract(self) -> pb.Assistant:
        """Return the assistant as services exchange it."""
        return pb.Assistant(
            **self.model_dump(
                include={
                    "id",
                    "name",
                    "title",
                    "description",
                    "owner",
                    "organization",
                    "system_prompt",
                    "prompt_template",
                    "strategy",
                    "prompt_processor",
                    "verbose",
                    "cite_sources",
                    "max_tool_rounds",
                }
            ),
            model=pb.ModelRef(**self.model.model_dump()),
            tools=[_binding(binding) for binding in self.tools],
            capabilities=pb.Capabilities(**self.capabilities.model_dump()),
            create_time=Timestamp(seconds=self.created),
        )


def _binding(document: BindingDocument) -> pb.ToolBinding:
    binding = pb.ToolBinding(
        id=document.id,
        tool=document.type,
        mode=_MODES[document.mode],
        disabled=not document.enabled,
        slot=document.slot,
        config=to_struct(document.config),
        on_failure=_POLICIES[document.on_failure],
    )
    if document.timeout is not None:
        binding.timeout.FromNanoseconds(int(document.timeout * 1e9))
    return binding
