"""What is probably a mistake in the template of an assistant."""

from typing import Annotated, Any

from heddle.assistant.v1.assistant_pb2 import Assistant
from heddle.orchestrator.v1 import orchestrator_pb2 as pb
from heddle_runtime.errors import DeadlineError, UnavailableError

from heddle_gateway.routing import Call
from heddle_gateway.services import call
from heddle_gateway.transcoding.messages import writer
from heddle_gateway.transcoding.schemas import described_as

TemplateFinding = Annotated[dict[str, Any], described_as(pb.TemplateFinding.DESCRIPTOR)]


async def findings_about_template(api: Call, assistant: Assistant) -> list[TemplateFinding]:
    """Return the findings about a template; none if the orchestrator cannot be reached."""
    request = pb.CheckTemplateRequest(assistant=assistant)
    try:
        response = await call(api.services.orchestrator.CheckTemplate, request)
    except (UnavailableError, DeadlineError):
        return []
    return [writer(pb.TemplateFinding.DESCRIPTOR)(each) for each in response.findings]
