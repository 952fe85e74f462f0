"""What is probably a mistake in the template of an assistant."""

from typing import Literal

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.contract.enums import enum_names
from heddle_runtime.errors import DeadlineError, UnavailableError
from pydantic import Field

from heddle_gateway.http.models import Model
from heddle_gateway.routing import Call
from heddle_gateway.services import call

_KINDS = enum_names(pb.TemplateFinding.Kind.DESCRIPTOR)


class TemplateFinding(Model):
    """What is probably a mistake in a template."""

    kind: Literal["unknown_slot", "unfilled_slot", "tool_without_slot", "no_user_input"] = Field(
        description="`unknown_slot`: no tool has the slot. `unfilled_slot`: its tools are disabled "
        "or do not run before the model. `tool_without_slot`: the template lacks the slot of a "
        "tool. `no_user_input`: it lacks the message of the user."
    )
    slot: str = Field(description="The slot, without braces.")
    start: int = Field(description="Where the slot begins in the template, in Unicode code points.")
    end: int = Field(description="Where it ends; 0 if the finding is not about a place.")
    tools: list[int] = Field(description="The bindings concerned: positions in `tools`.")
    description: str
    suggestion: str = Field(description="A slot that the author probably meant, or empty.")


async def findings_about_template(api: Call, assistant: Assistant) -> list[TemplateFinding]:
    """Return the findings about a template; none if the orchestrator cannot be reached."""
    request = pb.CheckTemplateRequest(assistant=assistant)
    try:
        response = await call(api.services.orchestrator.CheckTemplate, request)
    except (UnavailableError, DeadlineError):
        return []
    return [
        TemplateFinding.of(each, kind=_KINDS[each.kind], tools=list(each.tools))
        for each in response.findings
    ]
